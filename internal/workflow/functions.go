package workflow

import (
	"encoding/json"
	"strconv"
	"strings"
)

// call evaluates a function of GitHub's expression language. Everything that
// came before the failing step succeeded, or the job would have ended there.
func call(name string, args []value) value {
	switch name {
	case "success", "always":
		return true
	case "failure", "cancelled":
		return false
	case "hashfiles":
		return unknown{why: "hashFiles()"}
	}
	for _, a := range args {
		if u, is := a.(unknown); is {
			return u
		}
	}
	arg := func(i int) value {
		if i < len(args) {
			return args[i]
		}
		return nil
	}
	low := func(i int) string { return strings.ToLower(toText(arg(i))) }
	switch name {
	case "contains":
		if list, ok := arg(0).([]any); ok {
			for _, x := range list {
				if strings.EqualFold(toText(x), toText(arg(1))) {
					return true
				}
			}
			return false
		}
		return strings.Contains(low(0), low(1))
	case "startswith":
		return strings.HasPrefix(low(0), low(1))
	case "endswith":
		return strings.HasSuffix(low(0), low(1))
	case "format":
		return format(args)
	case "join":
		return join(arg(0), args)
	case "tojson":
		out, err := json.MarshalIndent(arg(0), "", "  ")
		if err != nil {
			return unknown{why: "toJSON()"}
		}
		return string(out)
	case "fromjson":
		var v any
		if err := json.Unmarshal([]byte(toText(arg(0))), &v); err != nil {
			return unknown{why: "fromJSON()"}
		}
		if depth(v) > maxDepth {
			return unknown{why: "fromJSON() of a text that nests deeper than " + strconv.Itoa(maxDepth), over: true}
		}
		return lowerKeys(v)
	}
	return unknown{why: name + "()"}
}

func format(args []value) value {
	if len(args) == 0 {
		return ""
	}
	var b strings.Builder
	for f := toText(args[0]); f != "" && b.Len() <= maxValue; {
		switch {
		case strings.HasPrefix(f, "{{"), strings.HasPrefix(f, "}}"):
			b.WriteByte(f[0])
			f = f[2:]
			continue
		case f[0] == '{':
			if digits, rest, ok := strings.Cut(f[1:], "}"); ok {
				if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n+1 < len(args) {
					b.WriteString(toText(args[n+1]))
					f = rest
					continue
				}
			}
			return unknown{why: "format()"}
		}
		b.WriteByte(f[0])
		f = f[1:]
	}
	return b.String()
}

func join(v value, args []value) value {
	sep := ","
	if len(args) > 1 {
		sep = toText(args[1])
	}
	list, ok := v.([]any)
	if !ok {
		return toText(v)
	}
	var b strings.Builder
	for i, x := range list {
		if i > 0 {
			b.WriteString(sep)
		}
		if b.WriteString(toText(x)); b.Len() > maxValue {
			break // it is too long already
		}
	}
	return b.String()
}

// lowerKeys makes the names of properties comparable: they are read without
// regard to case.
func lowerKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[strings.ToLower(k)] = lowerKeys(x)
		}
		return out
	case []any:
		for i := range v {
			v[i] = lowerKeys(v[i])
		}
	}
	return v
}
