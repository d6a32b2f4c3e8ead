package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"
)

// Bounds of a matrix; that of its combinations is GitHub's own.
const (
	maxCombinations = 256
	maxRows         = 50
)

// combination is one job of a matrix.
type combination struct {
	names  []string // in the order of the file, which is that of the job's name
	values map[string]value
	// assigned is how many names the matrix gave before include added others.
	assigned int
}

// segments are the values as they stand in the job's name.
func (c combination) segments(n int) []string {
	var out []string
	for _, name := range c.names[:n] {
		out = append(out, leaves(c.values[name])...)
	}
	return out
}

// leaves are the texts within a value; an object is named by its values.
func leaves(v value) []string {
	switch v := v.(type) {
	case nil, unknown:
		return nil
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, leaves(x)...)
		}
		return out
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var out []string
		for _, k := range keys {
			out = append(out, leaves(v[k])...)
		}
		return out
	}
	if t := toText(v); t != "" {
		return []string{t}
	}
	return nil
}

func (c combination) clone() combination {
	out := combination{names: slices.Clone(c.names), values: make(map[string]value, len(c.values)), assigned: c.assigned}
	for k, v := range c.values {
		out.values[k] = v
	}
	return out
}

func (c *combination) set(name string, v value) {
	if _, has := c.values[name]; !has {
		c.names = append(c.names, name)
	}
	c.values[name] = v
}

// combinations expands a matrix as GitHub does: the product of its rows
// without what exclude names, and include's entries, which extend those that
// they agree with or else are jobs of their own. segments are the values in the
// name of the job that is looked for, which tell a row whose values only
// GitHub knows. open is what could not be expanded.
func (f *file) combinations(m *actionlint.Matrix, s scope, segments []string) (list []combination, open []unknown) {
	if m == nil {
		return []combination{{values: map[string]value{}}}, nil
	}
	rows, include, exclude, open := f.read(m, s)
	if len(rows) > maxRows {
		return []combination{{values: map[string]value{}}}, []unknown{{why: fmt.Sprintf("a matrix of %d rows", len(rows))}}
	}
	for i := range rows {
		switch {
		case !rows[i].unknown:
		case len(segments) >= len(rows):
			rows[i].values = []value{segments[i]}
		default:
			rows[i].values = []value{unknown{why: "matrix." + rows[i].name}}
		}
	}
	list = []combination{{values: map[string]value{}}}
	for _, row := range rows {
		var next []combination
		for _, c := range list {
			for _, v := range row.values {
				if len(next) == maxCombinations {
					break
				}
				grown := c.clone()
				grown.set(row.name, v)
				next = append(next, grown)
			}
		}
		if len(row.values) > 0 {
			list = next
		}
	}
	if len(rows) == 0 {
		list = nil
	}
	list = slices.DeleteFunc(list, func(c combination) bool {
		return slices.ContainsFunc(exclude, func(x combination) bool { return len(x.values) > 0 && agrees(c, x, nil) })
	})
	for i := range list {
		list[i].assigned = len(list[i].names)
	}
	if list = including(list, include, rows); len(list) == 0 {
		list = []combination{{values: map[string]value{}}}
	}
	return list, open
}

func including(list, include []combination, rows []row) []combination {
	own := map[string]bool{}
	for _, r := range rows {
		own[r.name] = true
	}
	product := len(list)
	for _, x := range include {
		used := false
		for i := range product {
			if agrees(list[i], x, own) {
				used = true
				for _, n := range x.names {
					list[i].set(n, x.values[n])
				}
			}
		}
		if !used && len(list) < maxCombinations {
			x.assigned = len(x.names)
			list = append(list, x)
		}
	}
	return list
}

// agrees reports whether c has the values of x; only limits which names count.
func agrees(c, x combination, only map[string]bool) bool {
	for _, n := range x.names {
		if only != nil && !only[n] {
			continue
		}
		have, ok := c.values[n]
		if !ok || !same(have, x.values[n]) {
			return false
		}
	}
	return true
}

// same compares two values of a matrix. An object that exclude names in part
// agrees with one that has more.
func same(have, want value) bool {
	object, is := want.(map[string]any)
	if !is {
		return strings.Join(leaves(have), "\x00") == strings.Join(leaves(want), "\x00")
	}
	other, is := have.(map[string]any)
	if !is {
		return false
	}
	for k, v := range object {
		if x, ok := other[k]; !ok || !same(x, v) {
			return false
		}
	}
	return true
}

type row struct {
	name    string
	values  []value
	unknown bool
}

// read takes the matrix of the file apart, or that of the one expression that
// stands for it.
func (f *file) read(m *actionlint.Matrix, s scope) (rows []row, include, exclude []combination, open []unknown) {
	if m.Expression != nil {
		object, ok := s.whole(m.Expression.Value).(map[string]any)
		if !ok {
			return nil, nil, nil, []unknown{{why: "the matrix " + m.Expression.Value}}
		}
		for _, k := range sortedNames(object) {
			list, _ := object[k].([]any)
			switch k {
			case "include":
				include = objects(list)
			case "exclude":
				exclude = objects(list)
			default:
				rows = append(rows, row{name: k, values: list})
			}
		}
		return rows, include, exclude, nil
	}
	for name, r := range m.Rows {
		x := row{name: strings.ToLower(name)}
		if r.Expression != nil {
			list, ok := s.whole(r.Expression.Value).([]any)
			if x.values, x.unknown = list, !ok; !ok {
				open = append(open, unknown{why: fmt.Sprintf("the matrix values of %s, %s", name, r.Expression.Value)})
			}
		}
		for _, v := range r.Values {
			x.values = append(x.values, f.raw(v, s))
		}
		rows = append(rows, x)
	}
	slices.SortFunc(rows, func(a, b row) int { return before(place(m.Rows[a.name]), place(m.Rows[b.name])) })
	include, more := f.entries(m.Include, s)
	exclude, most := f.entries(m.Exclude, s)
	return rows, include, exclude, append(append(open, more...), most...)
}

// place is where a row stands; the parser gives one that is an expression no
// name.
func place(r *actionlint.MatrixRow) *actionlint.String {
	if r.Name != nil {
		return r.Name
	}
	return r.Expression
}

// before orders by place in the file.
func before(a, b *actionlint.String) int {
	if a == nil || b == nil || a.Pos == nil || b.Pos == nil {
		return 0
	}
	return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
}

func (f *file) entries(list *actionlint.MatrixCombinations, s scope) (out []combination, open []unknown) {
	if list == nil {
		return nil, nil
	}
	if list.Expression != nil {
		v, ok := s.whole(list.Expression.Value).([]any)
		if !ok {
			return nil, []unknown{{why: "the matrix entries " + list.Expression.Value}}
		}
		return objects(v), nil
	}
	for _, x := range list.Combinations {
		if x.Expression != nil {
			object, ok := s.whole(x.Expression.Value).(map[string]any)
			if !ok {
				open = append(open, unknown{why: "the matrix entry " + x.Expression.Value})
				continue
			}
			out = append(out, objects([]any{object})...)
			continue
		}
		assigns := make([]*actionlint.MatrixAssign, 0, len(x.Assigns))
		for _, a := range x.Assigns {
			assigns = append(assigns, a)
		}
		slices.SortFunc(assigns, func(a, b *actionlint.MatrixAssign) int { return before(a.Key, b.Key) })
		c := combination{values: map[string]value{}}
		for _, a := range assigns {
			c.set(strings.ToLower(a.Key.Value), f.raw(a.Value, s))
		}
		out = append(out, c)
	}
	return out, open
}

func objects(list []any) (out []combination) {
	for _, x := range list {
		object, ok := x.(map[string]any)
		if !ok {
			continue
		}
		c := combination{values: map[string]value{}}
		for _, k := range sortedNames(object) {
			c.set(k, object[k])
		}
		out = append(out, c)
	}
	return out
}

func sortedNames(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for k := range object {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}
