// The oracle judges objects with the very code of kube-apiserver: pruning, defaulting, schemas, list types and CEL.
//
// It reads JSON requests from stdin and writes one answer each to stdout. oracle_test.ts compares them with ours.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// A request asks for a definition to be checked, or for an object to be judged by the definition in a file.
type request struct {
	Definition  *v1.CustomResourceDefinition
	File        string
	Version     string
	Object, Old json.RawMessage
}

type answer struct {
	Errors  []string       `json:"errors"`
	Unknown []string       `json:"unknown"`
	Object  map[string]any `json:"object"`
}

type judge struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func main() {
	judges := map[string]*judge{}
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if err := requests.Decode(&r); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var a answer
		if r.Definition != nil {
			a.Errors = check(r.Definition)
		} else {
			key := r.File + " " + r.Version
			if judges[key] == nil {
				judges[key] = newJudge(r.File, r.Version)
			}
			a = judges[key].judge(object(r.Object), object(r.Old))
		}
		if err := answers.Encode(a); err != nil {
			log.Fatal(err)
		}
	}
}

func check(crd *v1.CustomResourceDefinition) []string {
	v1.SetDefaults_CustomResourceDefinition(crd)
	v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
		log.Fatal(err)
	}
	return texts(crdvalidation.ValidateCustomResourceDefinition(context.Background(), &internal))
}

func newJudge(file, version string) *judge {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var crd v1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		log.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name != version {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			log.Fatal(err)
		}
		structural, err := schema.NewStructural(&props)
		if err != nil {
			log.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			log.Fatal(err)
		}
		return &judge{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	log.Fatalf("Cannot judge by %s: no version %q", file, version)
	return nil
}

func object(raw json.RawMessage) map[string]any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var o map[string]any
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		log.Fatal(err)
	}
	return o
}

func (j *judge) judge(o, old map[string]any) answer {
	unknown := pruning.PruneWithOptions(o, j.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(o, j.structural)
	defaulting.Default(o, j.structural)
	errs := validation.ValidateCustomResource(nil, o, j.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.structural, o)...)
	if j.rules != nil && !blocked(errs) {
		var before any
		if old != nil {
			before = old
		}
		broken, _ := j.rules.Validate(context.Background(), nil, j.structural, o, before, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return answer{Errors: texts(errs), Unknown: unknown, Object: o}
}

func blocked(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

func texts(errs field.ErrorList) []string {
	all := []string{}
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}
