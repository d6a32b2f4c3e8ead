# What is reported does not happen here.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
printf 'grep -q ready state\n' >test.sh
echo ready >state
record 'A state'
echo '# state' >README
record 'A readme'
