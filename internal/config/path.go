package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"facetrack/internal/spelling"
)

// naming is how entries of the lists of cameras, participants and hosts are called.
type naming func(list string, i int, entry reflect.Value) string

// indexed is as in errors: cameras[0].pace.
func indexed(list string, i int, _ reflect.Value) string { return fmt.Sprintf("%s[%d]", list, i) }

// named is as in commands: cameras.left.pace.
func named(list string, _ int, entry reflect.Value) string {
	return list + "." + entry.FieldByName("Name").String()
}

// walk calls f for each value that has a key of its own, in the order of the structures.
func walk(v reflect.Value, prefix string, call naming, f func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		name := keyOf(v.Type().Field(i))
		if name == "" {
			continue
		}
		field, key := v.Field(i), prefix+name
		switch {
		case field.Kind() == reflect.Struct:
			walk(field, key+".", call, f)
		case isTable(field.Type()):
			for k := range field.Len() {
				walk(field.Index(k), call(key, k, field.Index(k))+".", call, f)
			}
		default:
			f(key, field)
		}
	}
}

// keyOf is the name of a field in files, "" when it has none.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// isTable tells lists whose entries have names and keys.
func isTable(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// Value is one setting.
type Value struct {
	Key  string // as detect.every, cameras.left.pace
	Text string // YAML
}

// Values lists every setting; those of cameras, participants and hosts are called by name.
func (c Config) Values() (all []Value) {
	walk(reflect.ValueOf(c), "", named, func(key string, v reflect.Value) {
		all = append(all, Value{key, text(v.Interface())})
	})
	return all
}

// Get lists the settings that a key names: one, or those of a section.
func (c Config) Get(key string) (found []Value, err error) {
	for _, v := range c.Values() {
		if v.Key == key || strings.HasPrefix(v.Key, key+".") {
			found = append(found, v)
		}
	}
	if len(found) == 0 && !slices.Contains(lists, key) {
		return nil, fmt.Errorf("%w: unknown setting %q%s", ErrInvalid, key, suggestPath(key))
	}
	return found, nil
}

// text is a value in one line of YAML.
func text(v any) string {
	if number, ok := v.(float64); ok {
		return strconv.FormatFloat(number, 'g', -1, 64)
	}
	out, err := yaml.MarshalWithOptions(v, yaml.Flow(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(out))
}

// Set changes one setting, as detect.every to 3, or cameras.left.priority to true. A whole camera or participant is YAML as
// {source: demo}; nothing, or null, takes it away. It does not validate the whole.
func (c *Config) Set(key, value string) error {
	return set(reflect.ValueOf(c).Elem(), key, key, value)
}

func set(v reflect.Value, whole, rest, value string) error {
	name, deeper, more := strings.Cut(rest, ".")
	field, ok := fieldNamed(v, name)
	switch {
	case !ok:
		return fmt.Errorf("%w: unknown setting %q%s", ErrInvalid, whole, suggestPath(whole))
	case more && field.Kind() == reflect.Struct:
		return set(field, whole, deeper, value)
	case more && isTable(field.Type()):
		return setEntry(field, whole, deeper, value)
	case more:
		return fmt.Errorf("%w: unknown setting %q: %s has no settings of its own", ErrInvalid, whole, strings.TrimSuffix(whole, "."+deeper))
	}
	return decodeInto(field, whole, value)
}

// setEntry changes, adds or takes away an entry of a list that has names.
func setEntry(list reflect.Value, whole, rest, value string) error {
	name, deeper, more := strings.Cut(rest, ".")
	at := -1
	for i := range list.Len() {
		if list.Index(i).FieldByName("Name").String() == name {
			at = i
		}
	}
	listName := strings.TrimSuffix(whole, "."+rest)
	switch {
	case more && at < 0:
		return fmt.Errorf("%w: %s: there is no %s named %q", ErrInvalid, whole, strings.TrimSuffix(listName, "s"), name)
	case more:
		copied := reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, list.Len()), list) // others may share the old one
		list.Set(copied)
		return set(copied.Index(at), whole, deeper, value)
	case value == "" || value == "null":
		if at < 0 {
			return fmt.Errorf("%w: %s: there is no %s named %q", ErrInvalid, whole, strings.TrimSuffix(listName, "s"), name)
		}
		rest := reflect.MakeSlice(list.Type(), 0, list.Len())
		rest = reflect.AppendSlice(rest, list.Slice(0, at))
		list.Set(reflect.AppendSlice(rest, list.Slice(at+1, list.Len())))
		return nil
	}
	entry := reflect.New(list.Type().Elem()).Elem()
	if err := decodeInto(entry, whole, value); err != nil {
		return err
	}
	if own := entry.FieldByName("Name").String(); own != "" && own != name {
		return fmt.Errorf("%w: %s: its name is %q there", ErrInvalid, whole, own)
	}
	entry.FieldByName("Name").SetString(name)
	if camera, ok := entry.Addr().Interface().(*Camera); ok {
		fillCamera(camera, 0)
	}
	copied := reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, list.Len()+1), list)
	if at < 0 {
		copied = reflect.Append(copied, entry)
	} else {
		copied.Index(at).Set(entry)
	}
	list.Set(copied)
	return nil
}

func fieldNamed(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if keyOf(v.Type().Field(i)) == name && name != "" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// decodeInto reads a value as a file would have it. A text needs no quotes and a list of words no brackets.
func decodeInto(field reflect.Value, key, value string) error {
	switch {
	case field.Kind() == reflect.String:
		field.SetString(value)
		return nil
	case field.Type() == reflect.TypeFor[[]string]() && !strings.HasPrefix(strings.TrimSpace(value), "["):
		words := []string{}
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
		field.Set(reflect.ValueOf(words))
		return nil
	}
	into := reflect.New(field.Type())
	if field.Kind() == reflect.Struct { // what is not said stays
		into.Elem().Set(field)
	}
	if strings.TrimSpace(value) == "" {
		return fmt.Errorf("%w: %s has no value", ErrInvalid, key)
	}
	if field.Kind() == reflect.Int {
		if err := whole(key, value); err != nil {
			return err
		}
	}
	if err := yaml.UnmarshalWithOptions([]byte(value), into.Interface(), yaml.Strict()); err != nil {
		return fmt.Errorf("%w: %s is %q: %s", ErrInvalid, key, value, message(err))
	}
	field.Set(into.Elem())
	return nil
}

// whole checks that a number has no fraction, which the decoder would cut off.
func whole(key, text string) error {
	if _, err := strconv.ParseFloat(text, 64); err != nil { // no number at all, or one that is written otherwise: the decoder's business
		return nil
	}
	if _, err := strconv.ParseInt(text, 0, 64); err != nil {
		return bad(key, text, "a whole number")
	}
	return nil
}

// message is what is wrong, without the place in the text.
func message(err error) string {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		return fmt.Sprintf("unknown key %q%s", unknown.Token.Value, suggest(unknown.Token.Value))
	}
	var yerr yaml.Error
	if errors.As(err, &yerr) {
		return yerr.GetMessage()
	}
	return err.Error()
}

// paths are all keys in full, those of lists with [].
func paths() (all []string) {
	var add func(t reflect.Type, prefix string)
	add = func(t reflect.Type, prefix string) {
		for i := range t.NumField() {
			name := keyOf(t.Field(i))
			if name == "" {
				continue
			}
			ft := t.Field(i).Type
			switch {
			case ft.Kind() == reflect.Struct:
				add(ft, prefix+name+".")
			case isTable(ft):
				all = append(all, prefix+name)
				add(ft.Elem(), prefix+name+"[].")
			default:
				all = append(all, prefix+name)
			}
		}
	}
	add(reflect.TypeFor[Config](), "")
	return all
}

// suggestPath names the setting that was probably meant.
func suggestPath(key string) string {
	best, bestDistance := "", 1+len(key)/3
	last := key[strings.LastIndexByte(key, '.')+1:]
	for _, path := range paths() {
		if strings.Contains(path, "[]") {
			continue
		}
		d := spelling.Distance(key, path)
		if strings.HasSuffix(path, "."+last) { // its section is missing, or another
			d = min(d, 1)
		}
		if d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = path, d
		}
	}
	if best == "" {
		return " (see facetrack.example.yaml for all keys)"
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
