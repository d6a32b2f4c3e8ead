package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/rhysd/actionlint"
	yaml "go.yaml.in/yaml/v4"
)

// Bounds of what is read.
const (
	maxFile  = 1 << 20 // bytes of a workflow or action file
	maxNodes = 100_000 // of a file after its aliases are resolved
	maxText  = 4 << 20 // bytes of those nodes, as they are written out
	maxDepth = 100     // nesting of a file
)

// parse reads a workflow file. Problems that leave jobs readable are passed
// over: the runner accepted the file, and this reader wants a part of it only.
func parse(data []byte) (f *file, err error) {
	// The parser is not ours, and the file is hostile.
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, errors.New("the file cannot be understood")
		}
	}()
	data, doc, err := plain(data)
	if err != nil {
		return nil, err
	}
	w, problems := actionlint.Parse(data)
	if w == nil || len(w.Jobs) == 0 {
		if len(problems) > 0 {
			return nil, fmt.Errorf("line %d: %s", problems[0].Line, problems[0].Message)
		}
		return nil, errors.New("it has no jobs")
	}
	return &file{Workflow: w, types: types(doc)}, nil
}

// plain checks the bounds of a file and resolves its aliases, which the parser
// does not know. The nodes are those of the text that it returns.
func plain(data []byte) ([]byte, *yaml.Node, error) {
	doc, aliases, err := load(data)
	if err != nil || !aliases {
		return data, doc, err
	}
	if data, err = dump(doc); err != nil {
		return nil, nil, err
	}
	doc = &yaml.Node{}
	if err := yaml.Load(data, doc); err != nil {
		return nil, nil, errors.New("its aliases cannot be resolved: " + oneLine(err.Error()))
	}
	return data, doc, nil
}

func load(data []byte) (doc *yaml.Node, aliases bool, err error) {
	if len(data) > maxFile {
		return nil, false, fmt.Errorf("it has %d bytes, more than the %d that are read", len(data), maxFile)
	}
	doc = &yaml.Node{}
	if err := yaml.Load(data, doc); err != nil {
		return nil, false, errors.New("it is not YAML: " + oneLine(err.Error()))
	}
	r := resolver{nodes: maxNodes, bytes: maxText}
	err = r.walk(doc, 0)
	return doc, r.aliases, err
}

func dump(doc *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	if err := errors.Join(enc.Encode(doc), enc.Close()); err != nil {
		return nil, errors.New("its aliases cannot be resolved: " + oneLine(err.Error()))
	}
	return out.Bytes(), nil
}

// resolver replaces aliases by copies of what they name. An alias inside of
// its own anchor never ends, aliases of aliases grow without bound, and so do
// many of one long text; all run into the bounds. Comments go: they would be
// copied too.
type resolver struct {
	nodes, bytes int // that may still come
	aliases      bool
}

// indent is how many spaces a line is moved in for each level when it is
// written out.
const indent = 4

func (r *resolver) walk(n *yaml.Node, depth int) error {
	if r.nodes--; r.nodes < 0 || depth > maxDepth {
		return fmt.Errorf("it has more than %d values, or more than %d within one another", maxNodes, maxDepth)
	}
	if r.bytes -= len(n.Tag) + len(n.Value) + strings.Count(n.Value, "\n")*depth*indent; r.bytes < 0 {
		return fmt.Errorf("its values have more than %d MiB with what its aliases name", maxText>>20)
	}
	n.Anchor, n.HeadComment, n.LineComment, n.FootComment = "", "", "", ""
	for i, c := range n.Content {
		if c.Kind == yaml.AliasNode {
			if c.Alias == nil {
				return errors.New("it has an alias that names nothing")
			}
			r.aliases = true
			copied := *c.Alias
			copied.Content = append([]*yaml.Node(nil), c.Alias.Content...)
			c = &copied
			n.Content[i] = c
		}
		if err := r.walk(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
