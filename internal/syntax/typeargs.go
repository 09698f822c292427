package syntax

import "strings"

// CutTypeArgs takes the type arguments off the name of an instantiation: pkg.Func[int,[]byte] is
// pkg.Func with "int" and "[]byte". Without brackets at the end there are none.
func CutTypeArgs(name string) (bare string, args []string) {
	open := strings.IndexByte(name, '[')
	if open <= 0 || !strings.HasSuffix(name, "]") {
		return name, nil
	}
	depth, from := 0, open+1
	for i := open; i < len(name); i++ {
		switch name[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth--
		}
		if end := i == len(name)-1; end || depth == 1 && name[i] == ',' {
			args = append(args, strings.TrimSpace(name[from:i]))
			from = i + 1
		}
	}
	return name[:open], args
}
