package uprobe

import (
	"errors"
	"fmt"
	"github.com/cilium/ebpf"
	"testing"
)

func TestLoad(t *testing.T) {
	c, err := ebpf.NewCollection(spec(nil, nil))
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		fmt.Printf("%+v\n", ve)
	}
	if err != nil {
		t.Fatal(err)
	}
	info, _ := c.Programs["hit"].Info()
	fmt.Println(info)
	fmt.Println(c)
}
