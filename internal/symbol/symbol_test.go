package symbol

import "testing"

func TestWithoutTypeArgs(t *testing.T) {
	for name, want := range map[string]string{
		"a.com/b.F": "a.com/b.F", "b.F[...]": "b.F", "b.F[go.shape.[]a.com/c.T].func1": "b.F.func1",
		"b.(*T[...]).F": "b.(*T).F", "b.F[map[string][]int]": "b.F", "b.F]": "b.F]", "": "",
	} {
		if got := WithoutTypeArgs(name); got != want {
			t.Errorf("%s without type arguments is %q, want %q", name, got, want)
		}
	}
}

func TestStandard(t *testing.T) {
	for pkg, want := range map[string]bool{
		"strings": true, "net/http": true, "a.com/b": false, "golang.org/x/net": false,
	} {
		if Standard(pkg) != want {
			t.Errorf("%s is standard: %v, want %v", pkg, !want, want)
		}
	}
}
