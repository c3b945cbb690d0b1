//go:build go1.25

package kontend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"sync"
	"unsafe"
)

// Memory declares variables that live from one reconcile to the next, such as expectations or a cache of results: their
// values are a part of the explored state, and those of a process that starts anew are the values they have now. Call it
// in the function given to [Explore], with a pointer to each.
//
// Fields need not be exported. Functions and channels cannot be declared; values in interfaces must be numbers, texts or
// booleans, or of a type that the variable holds at the start.
func Memory(pointers ...any) {
	if active == nil {
		return
	}
	for _, pointer := range pointers {
		value := reflect.ValueOf(pointer)
		if value.Kind() != reflect.Pointer || value.IsNil() {
			panic(fmt.Sprintf("kontend.Memory: expected pointers to variables, found %T", pointer))
		}
		active.memory = append(active.memory, value.Elem())
	}
}

// active is the exploration that this process serves.
var active *exploration

// saved is the declared memory as JSON.
func (e *exploration) saved() (json.RawMessage, error) {
	values := []any{}
	for _, variable := range e.memory {
		value, err := e.types.encoded(variable, 0)
		if err != nil {
			return nil, fmt.Errorf("kontend.Memory(%s): %w", variable.Type(), err)
		}
		values = append(values, value)
	}
	return json.Marshal(values)
}

// restore gives the declared memory the values that were saved.
func (e *exploration) restore(data json.RawMessage) error {
	if len(e.memory) == 0 || len(data) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var values []any
	if err := decoder.Decode(&values); err != nil {
		return err
	}
	for at, variable := range e.memory {
		if err := e.types.decode(values[at], variable); err != nil {
			return fmt.Errorf("kontend.Memory(%s): %w", variable.Type(), err)
		}
	}
	return nil
}

// types are the types that values in interfaces have had.
type types map[string]reflect.Type

const deepest = 64

var syncMap = reflect.TypeFor[sync.Map]()

// accessible is the same value, also where it is an unexported field.
func accessible(v reflect.Value) reflect.Value {
	if v.CanAddr() && !v.CanSet() {
		return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	return v
}

func (t types) encoded(v reflect.Value, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("it is nested too deeply; does it point to itself?")
	}
	v = accessible(v)
	if v.Type() == syncMap {
		if !v.CanAddr() {
			return nil, fmt.Errorf("a copy of a sync.Map")
		}
		entries := map[any]any{}
		v.Addr().Interface().(*sync.Map).Range(func(key, value any) bool { entries[key] = value; return true })
		return t.encoded(reflect.ValueOf(entries), depth+1)
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.Uint(), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		value, err := t.encoded(v.Elem(), depth+1)
		return []any{value}, err
	case reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		inner := v.Elem()
		t[inner.Type().String()] = inner.Type()
		// A copy, whose fields can be read.
		copied := reflect.New(inner.Type()).Elem()
		copied.Set(inner)
		value, err := t.encoded(copied, depth+1)
		return []any{inner.Type().String(), value}, err
	case reflect.Array, reflect.Slice:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return nil, nil
		}
		values := []any{}
		for i := range v.Len() {
			value, err := t.encoded(v.Index(i), depth+1)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	case reflect.Map:
		return t.encodedMap(v, depth)
	case reflect.Struct:
		values := map[string]any{}
		if !v.CanAddr() {
			copied := reflect.New(v.Type()).Elem()
			copied.Set(v)
			v = copied
		}
		for i := range v.NumField() {
			value, err := t.encoded(v.Field(i), depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Type().Field(i).Name, err)
			}
			values[v.Type().Field(i).Name] = value
		}
		return values, nil
	default:
		if v.IsZero() {
			return nil, nil
		}
		return nil, fmt.Errorf("a %s cannot be a part of a state", v.Kind())
	}
}

func (t types) encodedMap(v reflect.Value, depth int) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	entries := [][2]any{}
	texts := map[int]string{}
	for iterator := v.MapRange(); iterator.Next(); {
		key, err := t.encoded(addressable(iterator.Key()), depth+1)
		if err != nil {
			return nil, err
		}
		value, err := t.encoded(addressable(iterator.Value()), depth+1)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		texts[len(entries)] = string(text)
		entries = append(entries, [2]any{key, value})
	}
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return texts[order[i]] < texts[order[j]] })
	sorted := make([][2]any, 0, len(entries))
	for _, i := range order {
		sorted = append(sorted, entries[i])
	}
	return sorted, nil
}

// addressable is a copy of a value, with fields that can be read.
func addressable(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

func (t types) decode(data any, v reflect.Value) error {
	v = accessible(v)
	if v.Type() == syncMap {
		var entries map[any]any
		if err := t.decode(data, reflect.ValueOf(&entries).Elem()); err != nil {
			return err
		}
		target := v.Addr().Interface().(*sync.Map)
		target.Clear()
		for key, value := range entries {
			target.Store(key, value)
		}
		return nil
	}
	if data == nil {
		v.SetZero()
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		made := reflect.New(v.Type().Elem())
		if err := t.decode(data.([]any)[0], made.Elem()); err != nil {
			return err
		}
		v.Set(made)
	case reflect.Interface:
		pair := data.([]any)
		kind := t[pair[0].(string)]
		if kind == nil {
			kind = basic[pair[0].(string)]
		}
		if kind == nil {
			return fmt.Errorf("it holds a %s in an interface, which this process does not know", pair[0])
		}
		made := reflect.New(kind).Elem()
		if err := t.decode(pair[1], made); err != nil {
			return err
		}
		v.Set(made)
	case reflect.Slice:
		values := data.([]any)
		v.Set(reflect.MakeSlice(v.Type(), len(values), len(values)))
		return t.decodeAll(values, v)
	case reflect.Array:
		return t.decodeAll(data.([]any), v)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, entry := range data.([]any) {
			pair := entry.([]any)
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			if err := t.decode(pair[0], key); err != nil {
				return err
			}
			if err := t.decode(pair[1], value); err != nil {
				return err
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		values := data.(map[string]any)
		for i := range v.NumField() {
			if err := t.decode(values[v.Type().Field(i).Name], v.Field(i)); err != nil {
				return err
			}
		}
	default:
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, v.Addr().Interface())
	}
	return nil
}

func (t types) decodeAll(values []any, v reflect.Value) error {
	for i, value := range values {
		if err := t.decode(value, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

var basic = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "string": reflect.TypeFor[string](), "int": reflect.TypeFor[int](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](), "float64": reflect.TypeFor[float64](),
}
