# The file that a commit broke gets another name later, and lines above the
# broken one come and go.
set -e
git init -q
record() { git add -A && git commit -q -m "$1"; }
cat >words.py <<'X'
def plural(word):
    if word.endswith('y'):
        return word[:-1] + 'ies'
    if word.endswith(('s', 'x', 'ch', 'sh')):
        return word + 'es'
    return word + 's'


def title(text):
    return ' '.join(w.capitalize() for w in text.split())
X
cat >test_words.py <<'X'
import unittest

from words import plural


class PluralTest(unittest.TestCase):
    def test_plural(self):
        self.assertEqual(plural('city'), 'cities')
        self.assertEqual(plural('box'), 'boxes')
X
record 'Plurals and titles'
echo '# words' >README.md
record 'A readme'
sed -i "s/    if word.endswith(('s', 'x', 'ch', 'sh')):/    if word.endswith(('s', 'ch', 'sh')):/" words.py
record 'Tidy endings'
sed -i '1i """English words."""\n\n' words.py
record 'Describe the module'
git mv words.py english.py
sed -i 's/from words/from english/' test_words.py
record 'Call the module english'
echo 'More to come.' >>README.md
record 'Promise more'
git tag bad
sed -i "s/('s', 'ch', 'sh')/('s', 'x', 'ch', 'sh')/" english.py
cat >test_more.py <<'X'
import unittest

from english import plural, title


class MoreTest(unittest.TestCase):
    def test_endings(self):
        self.assertEqual([plural(w) for w in ('fox', 'bus', 'church', 'dog')], ['foxes', 'buses', 'churches', 'dogs'])
        self.assertEqual(title('a fox'), 'A Fox')
X
record 'Plurals of words in x'
git tag fix
