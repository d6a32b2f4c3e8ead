package conformance

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats replace the compiler's own checks, which refuse what GitHub sends:
// templates such as {/number}, and bots' addresses with brackets in them.
var formats = []*jsonschema.Format{
	{Name: "uri-template", Validate: matching(regexp.MustCompile(`^[a-z]+:[^{}\s]*(\{[^{}\s]+\}[^{}\s]*)*$`), "a URI template")},
	{Name: "email", Validate: matching(regexp.MustCompile(`^[^@\s]+@[^@\s]+$`), "an email address")},
}

func matching(form *regexp.Regexp, what string) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); ok && !form.MatchString(s) {
			return errors.New("not " + what)
		}
		return nil
	}
}

// errNotInstalled means that Path names no file.
var errNotInstalled = errors.New("the OpenAPI description is not installed (make openapi)")

// description is the installed file, read piece by piece as it is needed. It
// is safe for concurrent use.
type description struct {
	files *zip.ReadCloser
	index index

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	ops      map[string]*operation
	schemas  map[string]*jsonschema.Schema

	memory  sync.Mutex
	checked map[[sha256.Size]byte][]string // what was found wrong with the same bytes before
}

// installed opens the description once in each process; it stays open.
var installed = sync.OnceValues(func() (*description, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	return open(path)
})

func open(path string) (*description, error) {
	files, err := zip.OpenReader(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotInstalled
	}
	if err != nil {
		return nil, fmt.Errorf("open the description %s: remove it and run make openapi: %w", path, err)
	}
	d := &description{files: files, compiler: jsonschema.NewCompiler(), ops: map[string]*operation{}, schemas: map[string]*jsonschema.Schema{}, checked: map[[sha256.Size]byte][]string{}}
	d.compiler.AssertFormat()
	for _, f := range formats {
		d.compiler.RegisterFormat(f)
	}
	d.compiler.UseLoader(d)
	return d, d.read("index.json", &d.index)
}

func (d *description) read(name string, v any) error {
	f, err := d.files.Open(name)
	if err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(v); err != nil {
		return fmt.Errorf("read %s of the description: %w", name, err)
	}
	return nil
}

// Load reads what a reference names; it makes description a
// jsonschema.URLLoader.
func (d *description) Load(address string) (any, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(address, schemaBase))
	if err != nil {
		return nil, err
	}
	f, err := d.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
}

// operation is an operation by its method and path template, and its ID; nil
// when the description has none.
func (d *description) operation(method, template string) (*operation, string, error) {
	id := d.index.Operations[method+" "+template]
	if id == "" {
		return nil, "", nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	op := d.ops[id]
	if op == nil {
		op = &operation{}
		if err := d.read("ops/"+id+".json", op); err != nil {
			return nil, "", err
		}
		d.ops[id] = op
	}
	return op, id, nil
}

// validate holds a JSON value against a schema.
func (d *description) validate(place string, value any) error {
	s, err := d.schema(place)
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// schema is a compiled schema, by its place in the installed file:
// "schemas/issue.json", "ops/issues/get.json#/body/schema".
func (d *description) schema(place string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[place]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(schemaBase + place)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", place, err)
	}
	d.schemas[place] = s
	return s, nil
}
