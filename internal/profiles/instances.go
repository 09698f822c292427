package profiles

// Instances takes N@ off a name: N@FILE stands for N instances of a service, and FILE for one.
func Instances(text string) (n float64, name string, err error) {
	n, name, err = instances(text)
	return max(n, 1), name, err
}
