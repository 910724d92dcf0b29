package iter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

// TestOptions wants wrong options refused by name and value.
func TestOptions(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		s, err := ParseSetting(text)
		if err == nil {
			_, err = Build(entriesOver(), []Setting{s}, Env{})
		}
		if !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%s: %v", text, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not tell %q", text, err, w)
			}
		}
	}
	f("vers", `"vers"`)
	f("=1", `"=1"`)
	f("vers=x", `"vers"`, `"x"`)
	f("vers=0,class=VersioningIterator", `priority "0"`)
	f("VersioningIteratr=1", `"VersioningIteratr"`, `nearest is "VersioningIterator"`)
	f("a=1,class=Sum", `"a"`, `"Sum"`, "nearest")
	f("a=1,class", `"class"`)
	f("a=1,=3", `option ""`)
	f("a=1,x=1,x=2", `"x"`)
	f("VersioningIterator=1,maxVersions=0", `maxVersions="0"`)
	f("VersioningIterator=1,maxVersions=-1", `maxVersions="-1"`)
	f("VersioningIterator=1,maxVersions=x", `maxVersions="x"`)
	f("VersioningIterator=1,maxVersion=1", `maxVersion="1"`, `"maxVersions"`)
	f("SummingCombiner=1,all=true", `type=""`)
	f("SummingCombiner=1,all=true,type=VARLENGTH", `type="VARLENGTH"`, `"VARLEN"`)
	f("SummingCombiner=1,type=STRING", "columns")
	f("SummingCombiner=1,type=STRING,all=false", "columns")
	f("SummingCombiner=1,type=STRING,columns=", "columns")
	f("SummingCombiner=1,type=STRING,all=yes", `all="yes"`)
	f("SummingCombiner=1,type=STRING,all=true,columns=f", `columns="f"`)
	f("SummingCombiner=1,type=STRING,columns=f:%2", `columns="f:%2"`)
	f("SummingCombiner=1,type=STRING,columns=f:%2g", `"%2g"`)
	f("SummingCombiner=1,type=STRING,all=true,lossy=2", `lossy="2"`)
	f("SummingCombiner=1,type=STRING,all=true,loss=true", `loss="true"`, `"lossy"`)
	f("SummingCombiner=1,type=STRING,all=true,reduceOnFullCompactionOnly=?", `reduceOnFullCompactionOnly="?"`)
	for _, it := range []Iterator{&VersioningIterator{}, NewCombiner(&arrayReducer{})} {
		if err := it.Init(nil, Env{}); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%T without a source: %v", it, err)
		}
	}
}

func TestParseSetting(t *testing.T) {
	f := func(text string, want Setting, again string) {
		t.Helper()
		got, err := ParseSetting(text)
		if err != nil || got.Name != want.Name || got.Class != want.Class || got.Priority != want.Priority || fmt.Sprint(got.Options) != fmt.Sprint(want.Options) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got.String() != again {
			t.Errorf("%s prints as %s, want %s", text, got, again)
		}
	}
	f("VersioningIterator=20", Setting{Name: "VersioningIterator", Class: "VersioningIterator", Priority: 20}, "VersioningIterator=20")
	f("vers=20,maxVersions=3,class=VersioningIterator",
		Setting{Name: "vers", Class: "VersioningIterator", Priority: 20, Options: map[string]string{"maxVersions": "3"}},
		"vers=20,class=VersioningIterator,maxVersions=3")
	f("sum=10,class=SummingCombiner,columns=a:b,c,type=STRING",
		Setting{Name: "sum", Class: "SummingCombiner", Priority: 10, Options: map[string]string{"columns": "a:b,c", "type": "STRING"}},
		"sum=10,class=SummingCombiner,columns=a:b,c,type=STRING")
}

func TestOrdered(t *testing.T) {
	set := func(texts ...string) (out []Setting) {
		for _, text := range texts {
			name, priority, _ := strings.Cut(text, "=")
			s := Setting{Name: name, Class: versioningClass}
			fmt.Sscan(priority, &s.Priority)
			out = append(out, s)
		}
		return out
	}
	f := func(table, added []Setting, want string) {
		t.Helper()
		got, err := Combine(table, added)
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
		}
		if err != nil {
			if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			return
		}
		if strings.Join(names, " ") != want {
			t.Errorf("got %q, want %q", names, want)
		}
	}
	f(set("b=10", "a=20", "c=5"), nil, "c b a")
	f(set("b=10", "a=10"), nil, "a b")
	f(set("b=10", "c=20"), set("a=15"), "b a c")
	f(set("b=10"), set("a=10"), "priority 10")
	f(set("b=10"), set("b=11"), `"b" is set twice`)
	f(set("b=10", "b=10"), nil, `"b" is set twice`)
	if _, err := Build(entriesOver(), set("b=10", "b=11"), Env{}); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("build with a name twice: %v", err)
	}
}

// TestBuildOrder has a combiner below and above the versions.
func TestBuildOrder(t *testing.T) {
	in := "x f:q [] 9 1\nx f:q [] 8 2\nx f:q [] 7 4"
	f := func(want string, texts ...string) {
		t.Helper()
		got := mustReadEntries(t, build(t, parseEntries(t, in), Env{}, texts...), tablet.Range{}, tablet.Families{})
		if len(got) != 1 || string(got[0].Value) != want {
			t.Errorf("%v: got\n%s", texts, show(got))
		}
	}
	f("7", "sum=10,class=SummingCombiner,all=true,type=STRING", "vers=20,class=VersioningIterator")
	f("1", "sum=30,class=SummingCombiner,all=true,type=STRING", "vers=20,class=VersioningIterator")
	f("3", "sum=30,class=SummingCombiner,all=true,type=STRING", "vers=20,class=VersioningIterator,maxVersions=2")
}

func TestFuseVersions(t *testing.T) {
	f := func(most int, rest string, texts ...string) {
		t.Helper()
		var settings []Setting
		for _, text := range texts {
			s, err := ParseSetting(text)
			if err != nil {
				t.Fatal(err)
			}
			settings = append(settings, s)
		}
		got, left, err := FuseVersions(settings)
		var names []string
		for _, s := range left {
			names = append(names, s.Name)
		}
		if err != nil || got != most || strings.Join(names, " ") != rest {
			t.Errorf("%v: %d, %q, %v", texts, got, names, err)
		}
	}
	sum := "sum=10,class=SummingCombiner,all=true,type=STRING"
	f(0, "")
	f(1, "", "vers=20,class=VersioningIterator")
	f(0, "sum vers", "vers=20,class=VersioningIterator", sum)
	f(3, "sum", "vers=5,class=VersioningIterator,maxVersions=3", sum)
	f(2, "", "a=5,class=VersioningIterator,maxVersions=3", "b=6,class=VersioningIterator,maxVersions=2")
	_, _, err := FuseVersions([]Setting{{Name: "v", Class: versioningClass, Options: map[string]string{"maxVersions": "0"}}})
	if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), `"v"`) {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	want := strings.Fields(`AgeOffFilter ColumnAgeOffFilter ColumnSliceFilter FirstEntryInRowIterator GrepIterator MaxCombiner
		MinCombiner RegExFilter ReqVisFilter SummingArrayCombiner SummingCombiner TimestampFilter VersioningIterator
		WholeRowIterator`)
	got := slices.DeleteFunc(Names(), func(name string) bool { return strings.HasPrefix(name, "test.") })
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, name := range want {
		for _, prefix := range packages {
			if !Known(prefix+name) || Canonical(prefix+name) != name {
				t.Errorf("%s%s is not known", prefix, name)
			}
		}
	}
	if Known("org.apache.accumulo.core.iterators.user.") || Known("org.example.AgeOffFilter") {
		t.Error("a class of nobody is known")
	}
}
