package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/tablet/rfile"
)

// What a file can have beside its entries: samples of its groups and a Bloom filter.

const (
	samplerPackage = "org.apache.accumulo.core.client.sample."
	functorPackage = "org.apache.accumulo.core.file.keyfunctor."
)

var (
	samplerClasses = []string{"RowSampler", "RowColumnSampler"}
	bloomFunctors  = []string{"RowFunctor", "ColumnFamilyFunctor", "ColumnQualifierFunctor"}
)

// samplerFlag is the flag --sampler: a class and its options, or none.
type samplerFlag struct {
	value *rfile.Sampler
	given bool
}

func (s *samplerFlag) Type() string { return "CLASS[,option=value...]" }

func (s *samplerFlag) String() string {
	if s.value == nil {
		return ""
	}
	text := strings.TrimPrefix(s.value.Class, samplerPackage)
	for _, name := range slices.Sorted(maps.Keys(s.value.Options)) {
		text += "," + name + "=" + s.value.Options[name]
	}
	return text
}

func (s *samplerFlag) Set(text string) error {
	s.given, s.value = true, nil
	if text == "none" {
		return nil
	}
	class, options, err := classAndOptions(text, samplerPackage, samplerClasses)
	if err != nil {
		return err
	}
	s.value = &rfile.Sampler{Class: class, Options: options}
	return rfile.WriterOptions{Sampler: s.value}.Validate()
}

// bloomFlag is the flag --bloom: a functor and the size of the filter, or none.
type bloomFlag struct {
	value *rfile.BloomOptions
	given bool
}

func (b *bloomFlag) Type() string { return "FUNCTOR[,keys=N][,error=RATE]" }

func (b *bloomFlag) String() string {
	if b.value == nil {
		return ""
	}
	text := strings.TrimPrefix(b.value.Functor, functorPackage)
	if b.value.Keys != 0 {
		text += ",keys=" + strconv.Itoa(b.value.Keys)
	}
	if b.value.ErrorRate != 0 {
		text += ",error=" + strconv.FormatFloat(b.value.ErrorRate, 'g', 6, 64)
	}
	return text
}

func (b *bloomFlag) Set(text string) error {
	b.given, b.value = true, nil
	if text == "none" {
		return nil
	}
	functor, options, err := classAndOptions(text, functorPackage, bloomFunctors)
	if err != nil {
		return err
	}
	b.value = &rfile.BloomOptions{Functor: functor}
	for name, value := range options {
		var err error
		switch name {
		case "keys":
			var keys size
			err = keys.Set(value)
			b.value.Keys = int(keys)
			if err == nil && keys < 1 {
				err = errors.New("not at least 1")
			}
		case "error":
			b.value.ErrorRate, err = strconv.ParseFloat(value, 64)
			if err != nil || !(b.value.ErrorRate > 0 && b.value.ErrorRate < 1) {
				err = errors.New("not a number between 0 and 1")
			}
		default:
			return fmt.Errorf("no option %q, nearest is %q", name, nearest.Name(name, []string{"keys", "error"}))
		}
		if err != nil {
			return fmt.Errorf("%s is %q: %v", name, value, err)
		}
	}
	return rfile.WriterOptions{Bloom: b.value}.Validate()
}

// classAndOptions takes CLASS,option=value,... apart. The class may come with its package.
func classAndOptions(text, pkg string, known []string) (class string, options map[string]string, err error) {
	parts := strings.Split(text, ",")
	class = strings.TrimPrefix(parts[0], pkg)
	if !slices.Contains(known, class) {
		all := append([]string{"none"}, known...)
		return "", nil, fmt.Errorf("%q is not known, want one of %s; nearest is %q", parts[0], strings.Join(all, ", "), nearest.Name(class, all))
	}
	options = map[string]string{}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, "=")
		if _, twice := options[name]; !ok || name == "" || twice {
			return "", nil, fmt.Errorf("%q is not option=value, each given once", part)
		}
		options[name] = value
	}
	return class, options, nil
}

// adoptExtras takes what flags do not say from a file, as far as it can be made here.
func (w *writerFlags) adoptExtras(like *rfile.Reader) error {
	if s := like.Sampler(); s != nil && !w.sampler.given {
		if (rfile.WriterOptions{Sampler: s}).Validate() == nil {
			w.sampler.value = s
		}
	}
	if w.bloom.given {
		return nil
	}
	b, err := like.Bloom()
	if err != nil {
		return err
	}
	if b != nil {
		if o := b.Options(); (rfile.WriterOptions{Bloom: &o}).Validate() == nil {
			w.bloom.value = &o
		}
	}
	return nil
}
