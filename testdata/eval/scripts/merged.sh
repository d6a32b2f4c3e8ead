# The commit that broke it came with a merged branch, beside work on main.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
printf 'limit=10\n' >limits.sh
printf 'say() { echo "$@"; }\n' >say.sh
printf '. ./limits.sh\n. ./say.sh\n[ "$limit" -ge 5 ] || { say "limit is $limit, want at least 5"; exit 1; }\n' >test.sh
record 'Limits'
git checkout -q -b faster
printf 'say() { printf "%%s\\n" "$*"; }\n' >say.sh
record 'Print without echo'
printf '# per minute\nlimit=1\n' >limits.sh
record 'Count by the minute'
echo 'fast' >NOTES
record 'Take notes'
git checkout -q main
echo '# limits' >README
record 'A readme'
git merge -q --no-ff -m 'Merge branch faster' faster
echo 'Limits of things.' >>README
record 'Say more'
git tag bad
printf '# per minute\nlimit=10\n' >limits.sh
printf '. ./limits.sh\n[ "$limit" = 10 ]\n' >held-out.sh
record 'Ten per minute'
git tag fix
