# Nothing broke it: the function was wrong from its first day, and a test of
# today shows it. No revert mends it.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
echo '# leap' >README.md
record 'A readme'
printf 'def is_leap(year):\n    return year %% 4 == 0\n' >leap.py
record 'Leap years'
echo 'Years of the Gregorian calendar.' >>README.md
record 'Say which calendar'
printf 'import unittest\n\nfrom leap import is_leap\n\n\nclass LeapTest(unittest.TestCase):\n    def test_centuries(self):\n        self.assertTrue(is_leap(2024))\n        self.assertFalse(is_leap(1900))\n' >test_leap.py
record 'Test centuries'
git tag bad
printf 'def is_leap(year):\n    return year %% 4 == 0 and (year %% 100 != 0 or year %% 400 == 0)\n' >leap.py
printf 'import unittest\n\nfrom leap import is_leap\n\n\nclass MoreTest(unittest.TestCase):\n    def test_years(self):\n        self.assertEqual([y for y in (1600, 1700, 2000, 2023, 2028, 2100) if is_leap(y)], [1600, 2000, 2028])\n' >test_more.py
record 'Centuries are leap years by 400'
git tag fix
