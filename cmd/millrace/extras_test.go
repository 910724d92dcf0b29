package main

import (
	"strings"
	"testing"
)

// TestExtrasCarried writes a file with samples and a Bloom filter anew in every way: they come out as they were.
func TestExtrasCarried(t *testing.T) {
	s := newShell(t, "v8_lgs_sample.rf", "v8_bloom.rf")
	sample := s.ok("rfile", "cat", "--sample", "v8_lgs_sample.rf")
	meta := func(file string) string { // the filter's size tells how many bits it has
		t.Helper()
		_, rest, ok := strings.Cut(s.ok("rfile", "info", "--format", "json", file), `"name": "acu_bloom"`)
		_, rest, _ = strings.Cut(rest, `"rawsize": `)
		if !ok {
			t.Fatalf("%s has no filter", file)
		}
		return strings.Fields(rest)[0]
	}
	bloom := meta("v8_bloom.rf")
	s.ok("rfile", "convert", "--codec", "lz4", "sample.rf", "v8_lgs_sample.rf")
	s.ok("rfile", "convert", "--codec", "lz4", "bloom.rf", "v8_bloom.rf")
	s.ok("rfile", "compact", "--versions", "0", "sample2.rf", "v8_lgs_sample.rf")
	s.ok("rfile", "compact", "--versions", "0", "bloom2.rf", "v8_bloom.rf")
	s.ok("rfile", "split", "--at", "zzzz", "split", "v8_lgs_sample.rf")
	s.ok("rfile", "split", "--at", "zzzz", "split2", "v8_bloom.rf")
	for _, file := range []string{"sample.rf", "split/0001.rf"} {
		if got := s.ok("rfile", "cat", "--sample", file); got != sample {
			t.Errorf("%s has another sample", file)
		}
	}
	s.ok("rfile", "cat", "--sample", "sample2.rf")
	for _, file := range []string{"bloom.rf", "bloom2.rf", "split2/0001.rf"} {
		if got := meta(file); got != bloom && file != "bloom2.rf" {
			t.Errorf("%s: the filter has %s bytes, not %s", file, got, bloom)
		}
	}
	s.ok("rfile", "verify", "--deep", "sample.rf", "bloom.rf", "sample2.rf", "bloom2.rf", "split", "split2")

	s.ok("rfile", "create", "--sampler", "RowSampler,hasher=md5,modulus=3", "--bloom", "RowFunctor,keys=1K,error=0.01", "new.rf")
	got := s.ok("rfile", "info", "new.rf")
	for _, want := range []string{"RowSampler hasher=md5 modulus=3\n", "acu_bloom"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if got := s.ok("rfile", "convert", "--sampler", "none", "--bloom", "none", "without.rf", "new.rf"); !strings.Contains(got, "not carried over: acu_bloom, sample groups") {
		t.Error(got)
	}
	f := func(text string, flags ...string) {
		t.Helper()
		s.fails(2, text, append(append([]string{"rfile", "convert"}, flags...), "out.rf", "new.rf")...)
	}
	f(`want one of none, RowFunctor, ColumnFamilyFunctor, ColumnQualifierFunctor; nearest is`, "--bloom", "Foo")
	f(`"RowSamler" is not known, want one of none, RowSampler, RowColumnSampler; nearest is "RowSampler"`, "--sampler", "RowSamler")
	f("--level is 99: codec gz has no level 99", "--level", "99") // the codec is that of the input
	f("modulus", "--sampler", "RowSampler,hasher=md5")
	f("hasher", "--sampler", "RowSampler,hasher=md6,modulus=1")
	f(`"modulus" is not option=value`, "--sampler", "RowSampler,modulus")
	f("no option", "--sampler", "RowSampler,hasher=md5,modulus=3,x=1")
	f("hashes no field", "--sampler", "RowColumnSampler,hasher=md5,modulus=3")
	f("nearest is", "--bloom", "Row")
	f("nearest is \"keys\"", "--bloom", "RowFunctor,kees=1")
	f("keys is \"0\"", "--bloom", "RowFunctor,keys=0")
	f("error is \"1\"", "--bloom", "RowFunctor,error=1")
	f("error is \"NaN\"", "--bloom", "RowFunctor,error=NaN")
	f("bits", "--bloom", "RowFunctor,keys=2G,error=1e-9")
}
