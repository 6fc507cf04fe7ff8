import { expect, test } from "vitest";
import { readEnums } from "./openapi-enums.ts";

const field = (name: string, enumeration: string): string => `
					"${name}": {
						SchemaProps: spec.SchemaProps{
							Description: "What ${name} is.\\n\\nPossible enum values:\\n - \`\\"A\\"\`",
							Type:        []string{"string"},
${enumeration}
						},
					},`;

test("enumerated fields and lists of enumerated values are read with their descriptions, others are not", () => {
  const source = `
func schema_k8sio_api_core_v1_PodSpec(ref common.ReferenceCallback) common.OpenAPIDefinition {
${field("restartPolicy", '							Enum:        []interface{}{"Always", "Never"},')}
${field("nodeName", '							Format:      "",')}
${field("modes", '										Enum:    []interface{}{"A"},')}
}

func schema_pkg_apis_apiextensions_v1_Scope(ref common.ReferenceCallback) common.OpenAPIDefinition {
${field("scope", '							Enum:        []interface{}{"Cluster"},')}
}
`;

  const description = (name: string): string => `What ${name} is.\n\nPossible enum values:\n - \`"A"\``;
  expect(readEnums(source)).toEqual(
    new Map([
      [
        "io.k8s.api.core.v1.PodSpec",
        new Map([
          ["restartPolicy", { values: ["Always", "Never"], ofMembers: false, description: description("restartPolicy") }],
          ["modes", { values: ["A"], ofMembers: true, description: description("modes") }],
        ]),
      ],
      [
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.Scope",
        new Map([["scope", { values: ["Cluster"], ofMembers: false, description: description("scope") }]]),
      ],
    ]),
  );
});
