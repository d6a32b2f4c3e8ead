# A sum of prices: one commit of nine rounds before it sums. The test that
# shows it comes last; the fix adds one more.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
cat >price.py <<'X'
def total(prices, discount=0):
    """The sum of prices, less a discount in percent."""
    return round(sum(prices) * (100 - discount) / 100, 2)
X
echo '# prices' >README.md
record 'Sum prices'
echo 'Sums of prices.' >>README.md
record 'Say what it is for'
echo "NAMES = ['EUR', 'USD']" >currency.py
record 'Name the currencies'
sed -i 's|\* (100 - discount) / 100|- discount / 100|' price.py
echo '"""Names of currencies."""' | cat - currency.py >x && mv x currency.py
record 'Simplify discounts'
for n in 1 2 3 4; do
	echo "ALSO_$n = 'X0$n'" >>currency.py
	record "Add currency $n"
done
cat >test_price.py <<'X'
import unittest

from price import total


class TotalTest(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([1, 2, 3]), 6)

    def test_with_discount(self):
        self.assertEqual(total([50, 50], discount=20), 80)
X
record 'Test discounts'
git tag bad
sed -i 's|- discount / 100|* (100 - discount) / 100|' price.py
cat >test_more.py <<'X'
import unittest

from price import total


class MoreTest(unittest.TestCase):
    def test_discounts(self):
        self.assertEqual(total([200], discount=50), 100)
        self.assertEqual(total([], discount=50), 0)
        self.assertEqual(total([19.99], discount=10), 17.99)
X
record 'Take the discount from the sum'
git tag fix
