package agent

import (
	"testing"

	"culprit/internal/patch"
)

func TestAFixMakesNoFileThatIsReadUnasked(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"sitecustomize.py", "src/unittest.py", "pytest.ini", "hooks.pth", "web/jest.config.mjs", ".cargo/config.toml", "go.work"} {
		if mayEdit(p, true, []string{"cart.py", "src/cart.py", "web/cart.js", ".cargo/x"}, patch.Policy{}, patch.IsTestFile) == nil {
			t.Errorf("%s may be made", p)
		}
	}
	// One that is there and that the evidence names may be edited, and a new
	// file beside an implicated one be made.
	if err := mayEdit("pytest.ini", false, []string{"pytest.ini"}, patch.Policy{}, patch.IsTestFile); err != nil {
		t.Error(err)
	}
	if err := mayEdit("src/discount.py", true, []string{"src/cart.py"}, patch.Policy{}, patch.IsTestFile); err != nil {
		t.Error(err)
	}
}
