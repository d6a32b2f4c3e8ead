# One large commit changes six files for good reasons; one of its eleven
# changes is wrong, and the rest is needed by what came after.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
for n in 1 2 3 4 5; do
	printf 'def rate():\n    return %d\n\n\ndef name():\n    return "zone %d"\n' $n $n >zone$n.py
done
printf 'import zone1, zone2, zone3, zone4, zone5\n\nZONES = [zone1, zone2, zone3, zone4, zone5]\n\n\ndef cost(zone, kilograms):\n    return ZONES[zone - 1].rate() * kilograms\n\n\ndef label(zone):\n    return ZONES[zone - 1].name()\n' >post.py
printf 'import unittest\n\nimport post\n\n\nclass PostTest(unittest.TestCase):\n    def test_cost(self):\n        self.assertEqual(post.cost(4, 2), 8)\n' >test_post.py
record 'What post costs'
echo '# post' >README.md
record 'A readme'
for n in 1 2 3 4 5; do
	printf 'RATE = %d\nNAME = "zone %d"\n\n\ndef rate():\n    return RATE\n\n\ndef name():\n    return NAME\n' $((n == 4 ? 5 : n)) $n >zone$n.py
done
sed -i 's/    return ZONES\[zone - 1\].name()/    return ZONES[zone - 1].NAME/' post.py
record 'Constants for rates and names'
sed -i 's/NAME = "zone/NAME = "Zone/' zone*.py
record 'Names with a capital'
printf '\n\ndef labels():\n    return [z.NAME for z in ZONES]\n' >>post.py
record 'All labels'
git tag bad
sed -i 's/RATE = 5/RATE = 4/' zone4.py
printf 'import unittest\n\nimport post\n\n\nclass MoreTest(unittest.TestCase):\n    def test_all(self):\n        self.assertEqual([post.cost(z, 1) for z in range(1, 6)], [1, 2, 3, 4, 5])\n        self.assertEqual(post.labels()[0], "Zone 1")\n        self.assertEqual(post.label(5), "Zone 5")\n' >test_more.py
record 'The rate of zone 4'
git tag fix
