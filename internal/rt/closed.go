package rt

import (
	"encoding"
	"reflect"
	"strconv"
)

// closed reports whether values of t hold what only their package can put
// together: structs with unexported fields of another package than own. They
// are taken from records or made by their package, never field by field.
func closed(own string, t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if p := t.Field(i).PkgPath; p != "" && p != own {
			return true
		}
	}
	return false
}

// formTexts are texts of the forms that types of packages are read from:
// numbers of several sizes, times, addresses.
var formTexts = []string{"0", "1", "-1", "2", "10", "255", "65536", "-9223372036854775808", "18446744073709551615",
	"18446744073709551616",
	"340282366920938463463374607431768211456", "-1000000000000000000000000000000000000000001", "0.5", "1e100", "1/3",
	"2021-02-28T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00",
	"0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1", "::ffff:1.2.3.4", "fe80::1%eth0", "10.0.0.0/8", "::/0",
	"127.0.0.1:80", "[::1]:65535"}

// maxConstructed bounds the values of one type.
const maxConstructed = 40

// constructed makes values of a closed type as its own package makes them from
// texts: by the functions that are known here, and by UnmarshalText.
func (d *domain) constructed(t reflect.Type) (list []reflect.Value) {
	texts := formTexts
	for _, n := range d.ints {
		texts = append(texts[:len(texts):len(texts)], strconv.FormatInt(n, 10))
	}
	texts = append(texts[:len(texts):len(texts)], d.strings...)
	for _, text := range texts {
		if v, ok := fromText(t, text); ok && len(list) < maxConstructed {
			list = append(list, v)
		}
	}
	return list
}

// fromText makes one value.
func fromText(t reflect.Type, text string) (v reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // a method that does not take the text
		}
	}()
	p := reflect.New(t)
	if u, is := p.Interface().(encoding.TextUnmarshaler); is {
		return p.Elem(), u.UnmarshalText([]byte(text)) == nil
	}
	// Types without the method may have a function that makes them of a text.
	if f := texted[t]; f != nil {
		return reflect.ValueOf(f(text)), true
	}
	if f := texted[p.Type()]; f != nil {
		return reflect.ValueOf(f(text)).Elem(), true
	}
	return v, false
}
