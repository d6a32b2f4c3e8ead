package workflow

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"
)

// maxExpression bounds one expression in bytes, and so how deep it nests.
// GitHub's own limit is higher; no expression of a real workflow comes near.
const maxExpression = 4096

// value of an expression: nil, bool, float64, string, []any, map[string]any
// with keys in lower case, or unknown.
type value = any

// unknown is a value that cannot be told here.
type unknown struct {
	why    string // what it depends on: "secrets.TOKEN"
	secret bool
	over   bool // it is not unknown, but more than is worked out here
}

// scope holds the contexts that expressions see. A property that a context
// does not have is null where the context is complete, and unknown where it is
// open.
type scope struct {
	contexts map[string]value
	open     map[string]bool
	work     *int // bytes that expressions read and made
}

// with is the scope with one context replaced.
func (s scope) with(name string, v value) scope {
	out := scope{contexts: make(map[string]value, len(s.contexts)+1), open: s.open, work: s.work}
	for k, x := range s.contexts {
		out.contexts[k] = x
	}
	out.contexts[name] = v
	return out
}

// text fills the expressions of a string in. What is unknown stays empty and
// is listed. Of a text that is too long nothing is left.
func (s scope) text(str string) (string, []unknown) {
	if !strings.Contains(str, "${{") {
		return str, nil
	}
	var b strings.Builder
	var missing []unknown
	for {
		before, rest, found := strings.Cut(str, "${{")
		b.WriteString(before)
		if !found {
			break
		}
		v, n := s.expression(rest)
		if u, is := v.(unknown); is {
			missing = append(missing, u)
		} else {
			b.WriteString(toText(v))
		}
		if str = rest[n:]; b.Len() > maxValue {
			break
		}
	}
	if u, is := s.bounded(b.String()).(unknown); is {
		return "", append(missing, u)
	}
	return b.String(), missing
}

// whole is the value of a string that may be one expression alone, whose value
// then keeps its type: matrix: ${{ fromJSON(…) }}.
func (s scope) whole(str string) value {
	t := strings.TrimSpace(str)
	if inner, ok := strings.CutPrefix(t, "${{"); ok {
		if v, n := s.expression(inner); n == len(inner) {
			return v
		}
	}
	out, missing := s.text(str)
	if len(missing) > 0 {
		return missing[0]
	}
	return out
}

// condition evaluates an if: with or without its brackets.
func (s scope) condition(str string) value {
	t := strings.TrimSpace(str)
	if !strings.Contains(t, "${{") {
		t = "${{ " + t + " }}"
	}
	v := s.whole(t)
	if u, is := v.(unknown); is {
		return u
	}
	return truthy(v)
}

// expression evaluates what stands behind "${{" and returns how many bytes it
// has with its "}}".
func (s scope) expression(src string) (value, int) {
	end := closing(src)
	if end < 0 {
		return unknown{why: "an expression without an end"}, len(src)
	}
	if end > maxExpression {
		return unknown{why: "an expression of " + strconv.Itoa(end) + " bytes"}, end
	}
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(src[:end]))
	if err != nil {
		return unknown{why: strings.TrimSpace(strings.TrimSuffix(src[:end], "}}"))}, end
	}
	return s.eval(node), end
}

// closing is the offset behind the "}}" that ends an expression; quoted text
// may hold one.
func closing(src string) int {
	quoted := false
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '\'':
			quoted = !quoted
		case !quoted && strings.HasPrefix(src[i:], "}}"):
			return i + 2
		}
	}
	return -1
}

func (s scope) eval(n actionlint.ExprNode) value {
	switch n := n.(type) {
	case *actionlint.NullNode:
		return nil
	case *actionlint.BoolNode:
		return n.Value
	case *actionlint.IntNode:
		return float64(n.Value)
	case *actionlint.FloatNode:
		return n.Value
	case *actionlint.StringNode:
		return n.Value
	case *actionlint.VariableNode:
		name := strings.ToLower(n.Name)
		if v, ok := s.contexts[name]; ok && !s.open[name] {
			return v
		}
		return unknown{why: n.Name, secret: name == "secrets"}
	case *actionlint.ObjectDerefNode:
		return s.property(n.Receiver, n.Property)
	case *actionlint.IndexAccessNode:
		index := s.eval(n.Index)
		if u, is := index.(unknown); is {
			return u
		}
		if _, context := n.Operand.(*actionlint.VariableNode); context {
			return s.property(n.Operand, toText(index))
		}
		// Once, whatever it is: what is evaluated twice in a chain of these
		// doubles the work with each link.
		v := s.eval(n.Operand)
		if list, ok := v.([]any); ok {
			if i := toNumber(index); i >= 0 && i < float64(len(list)) && i == math.Trunc(i) {
				return list[int(i)]
			}
			return nil
		}
		return member(v, toText(index))
	case *actionlint.ArrayDerefNode:
		return s.eval(n.Receiver)
	case *actionlint.NotOpNode:
		v := s.eval(n.Operand)
		if u, is := v.(unknown); is {
			return u
		}
		return !truthy(v)
	case *actionlint.CompareOpNode:
		return compare(n.Kind, s.bounded(s.eval(n.Left)), s.bounded(s.eval(n.Right)))
	case *actionlint.LogicalOpNode:
		return s.logical(n)
	case *actionlint.FuncCallNode:
		args := make([]value, len(n.Args))
		for i, a := range n.Args {
			args[i] = s.bounded(s.eval(a))
		}
		return s.bounded(call(strings.ToLower(n.Callee), args))
	}
	return unknown{why: "an expression of a new form"}
}

// property reads receiver.name; the whole path names what is unknown.
func (s scope) property(receiver actionlint.ExprNode, name string) value {
	if root, ok := receiver.(*actionlint.VariableNode); ok {
		name = strings.ToLower(name)
		context := strings.ToLower(root.Name)
		object, _ := s.contexts[context].(map[string]any)
		if v, has := object[name]; has {
			return v
		}
		if _, known := s.contexts[context]; known && !s.open[context] {
			return nil
		}
		return unknown{why: context + "." + name, secret: context == "secrets"}
	}
	return member(s.eval(receiver), name)
}

// member is the property of a value; of a list, those of its elements.
func member(v value, name string) value {
	name = strings.ToLower(name)
	switch v := v.(type) {
	case unknown:
		v.why += "." + name
		return v
	case map[string]any:
		return v[name]
	case []any: // list.*.name
		var out []any
		for _, x := range v {
			if object, ok := x.(map[string]any); ok {
				if p, has := object[name]; has {
					out = append(out, p)
				}
			}
		}
		return out
	}
	return nil
}

// logical is && and ||, which return an operand, and need not know the other
// one where the first decides.
func (s scope) logical(n *actionlint.LogicalOpNode) value {
	left, and := s.eval(n.Left), n.Kind == actionlint.LogicalOpNodeKindAnd
	u, is := left.(unknown)
	if !is {
		if truthy(left) != and {
			return left
		}
		return s.eval(n.Right)
	}
	right := s.eval(n.Right)
	if _, also := right.(unknown); !also && truthy(right) != and && isBool(right) {
		return right // false && unknown, true || unknown
	}
	return u
}

func isBool(v value) bool { _, is := v.(bool); return is }

// compare is how GitHub compares: texts without regard to case, different
// types as numbers.
func compare(kind actionlint.CompareOpNodeKind, a, b value) value {
	for _, v := range []value{a, b} {
		if u, is := v.(unknown); is {
			return u
		}
	}
	var less, equal bool
	x, isText := a.(string)
	y, both := b.(string)
	switch {
	case isText && both:
		x, y = strings.ToLower(x), strings.ToLower(y)
		less, equal = x < y, x == y
	case a == nil && b == nil:
		equal = true
	default:
		p, q := toNumber(a), toNumber(b)
		less, equal = p < q, p == q
		if math.IsNaN(p) || math.IsNaN(q) {
			return kind == actionlint.CompareOpNodeKindNotEq
		}
	}
	switch kind {
	case actionlint.CompareOpNodeKindEq:
		return equal
	case actionlint.CompareOpNodeKindNotEq:
		return !equal
	case actionlint.CompareOpNodeKindLess:
		return less
	case actionlint.CompareOpNodeKindLessEq:
		return less || equal
	case actionlint.CompareOpNodeKindGreater:
		return !less && !equal
	case actionlint.CompareOpNodeKindGreaterEq:
		return !less
	}
	return unknown{why: "a comparison of a new kind"}
}

func truthy(v value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

func toNumber(v value) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	case string:
		t := strings.TrimSpace(v)
		if t == "" {
			return 0
		}
		if n, err := strconv.ParseFloat(t, 64); err == nil {
			return n
		}
	}
	return math.NaN()
}

func toText(v value) string {
	switch v := v.(type) {
	case nil, unknown:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return v
	case []any:
		return "Array"
	case map[string]any:
		return "Object"
	}
	return fmt.Sprint(v)
}
