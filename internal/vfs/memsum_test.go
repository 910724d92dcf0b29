package vfs

import "testing"

func TestSum(t *testing.T) {
	tree := func(files ...string) *MemFS {
		m := Mem()
		check(t, m.MkdirAll("d"))
		for i := 0; i < len(files); i += 2 {
			f, err := m.Create(files[i])
			check(t, err)
			_, err = f.Write([]byte(files[i+1]))
			check(t, err)
			check(t, f.Close())
		}
		return m
	}
	base := tree("a", "one", "d/b", "two")
	if got := base.Clone().Sum(); got != base.Sum() {
		t.Error("a copy has another sum")
	}
	big := string(make([]byte, 3*PageBytes+7))
	for i, other := range []*MemFS{
		tree("a", "one"), tree("a", "one", "d/b", "twO"), tree("a", "one", "b", "two"), tree("a", "one", "d/c", "two"),
		tree("d/b", "two"), tree("ao", "ne", "d/b", "two"), tree("a", "one", "d/b", "two", "d/c", ""), base.Durable(),
		tree("a", big), tree("a", big+"\x00"), tree("a", big[:3*PageBytes]+"1234567"), tree("a", "1"+big[1:]),
	} {
		if other.Sum() == base.Sum() {
			t.Errorf("tree %d has the same sum", i)
		}
	}
	if tree("a", big).Sum() != tree("a", big).Sum() || tree("a", big).Sum() == tree("a", "1"+big[1:]).Sum() {
		t.Error("sums of large files")
	}
}
