import * as mappers from "@azure/arm-containerinstance/dist-esm/src/models/mappers.js";
import { describe, expect, test } from "vitest";
import { groupBody } from "./arm-calls.ts";
import { schemaProblem } from "./fake/schema/check-schema.ts";
import { containerGroupFacts as facts } from "./fake/schema/container-group-facts.ts";
import { extractFacts } from "./fake/schema/extract-facts.ts";
import { parseField } from "./fake/schema/schema-facts.ts";

/** A mapper of the vendor's SDK. */
interface Mapper {
  readonly serializedName?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly type: {
    readonly name: string;
    readonly className?: string;
    readonly modelProperties?: Readonly<Record<string, Mapper>>;
    readonly element?: Mapper;
    readonly value?: Mapper;
    readonly allowedValues?: readonly string[];
  };
}

const vendor = mappers as unknown as Readonly<Record<string, Mapper>>;

/** The SDK's names for types that the schema names otherwise. */
const sdkNames: Readonly<Record<string, string>> = {
  ContainerGroupPropertiesPropertiesInstanceView: "ContainerGroupPropertiesInstanceView",
};

/** Types whose fields the SDK adds to the type that has them, in `properties`. */
const flattened: Readonly<Record<string, string>> = {
  ContainerProperties: "Container",
  ContainerGroupPropertiesProperties: "ContainerGroup",
  InitContainerPropertiesDefinition: "InitContainerDefinition",
  DeploymentExtensionSpecProperties: "DeploymentExtensionSpec",
};

/** What api-version 2025-09-01 has and the SDK, which speaks 2023-05-01, drops. */
const newSince2023 = {
  types: [
    "ConfigMap",
    "ContainerGroupProfileReferenceDefinition",
    "IdentityAccessControl",
    "IdentityAcls",
    "SecretReference",
    "StandbyPoolProfileDefinition",
  ],
  fields: [
    "AzureFileVolume.storageAccountKeyReference",
    "ContainerGroup.systemData",
    "ContainerGroupPropertiesProperties.containerGroupProfile",
    "ContainerGroupPropertiesProperties.identityAcls",
    "ContainerGroupPropertiesProperties.isCreatedFromStandbyPool",
    "ContainerGroupPropertiesProperties.secretReferences",
    "ContainerGroupPropertiesProperties.standbyPoolProfile",
    "ContainerProperties.configMap",
    "EnvironmentVariable.secureValueReference",
    "ImageRegistryCredential.passwordReference",
    "Volume.secretReference",
  ],
};

/** Fields of the SDK's mappers that belong to a type, with their wire names. */
function vendorFields(type: string): ReadonlyMap<string, Mapper> | undefined {
  const owner = flattened[type];
  const properties = { ...vendor[owner ?? sdkNames[type] ?? type]?.type.modelProperties };
  // The SDK declares what a group has besides its profile in a type of its own, and inherits the rest from Resource.
  if (type === "ContainerGroup")
    Object.assign(properties, vendor["Resource"]?.type.modelProperties, vendor["ContainerGroupProperties"]?.type.modelProperties);
  if (type === "ContainerGroupPropertiesProperties") Object.assign(properties, vendor["ContainerGroupProperties"]?.type.modelProperties);
  if (Object.keys(properties).length === 0) return undefined;
  const entries = Object.values(properties).flatMap((mapper): [string, Mapper][] => {
    const name = mapper.serializedName ?? "";
    if (owner !== undefined) return name.startsWith("properties.") ? [[name.slice("properties.".length), mapper]] : [];
    return name.includes(".") ? [] : [[name, mapper]];
  });
  return new Map(entries);
}

function vendorType({ type }: Mapper): string {
  switch (type.name) {
    case "Sequence":
      return `${type.element ? vendorType(type.element) : "object"}[]`;
    case "Dictionary":
      return type.value?.type.name === "any" ? "object" : `map<${type.value ? vendorType(type.value) : "object"}>`;
    case "Composite":
      return Object.entries(sdkNames).find(([, name]) => name === type.className)?.[0] ?? type.className ?? "";
    case "Number":
      return "number";
    case "Boolean":
      return "boolean";
    case "any":
      return "object";
    default:
      return "string";
  }
}

/** The type of a field as the SDK would write it: it has no names for enums and one type for numbers. */
function plainType(text: string): string {
  const { type } = parseField(text);
  const [, inner, many = ""] = /^(.*?)((?:\[\])?)$/.exec(type) ?? [];
  const plain = (inner ?? "") in facts.enums ? "string" : inner === "integer" ? "number" : (inner ?? "");
  return `${plain}${many}`;
}

describe("the schema's facts and the mappers of the vendor's SDK", () => {
  const types = Object.keys(facts.types).filter((type) => !newSince2023.types.includes(type));

  test.for(types)("%s has the same fields", (type) => {
    const theirs = vendorFields(type);
    const ours = Object.entries(facts.types[type] ?? {}).filter(
      ([field]) => !newSince2023.fields.includes(`${type}.${field}`) && field !== "properties",
    );
    expect([...(theirs?.keys() ?? [])].toSorted()).toEqual(ours.map(([field]) => field).toSorted());
    for (const [field, text] of ours) {
      const mapper = theirs?.get(field);
      if (!mapper) continue;
      expect([field, vendorType(mapper)]).toEqual([field, plainType(text)]);
      // The SDK does not mark objects, whose fields are marked.
      if (mapper.type.name !== "Composite") expect([field, mapper.readOnly === true]).toEqual([field, parseField(text).isReadOnly]);
    }
  });

  test("the same fields are required, except for those that are required in one version only", () => {
    const differing = types.flatMap((type) => {
      const isRequiredThere = (field: string): boolean => vendorFields(type)?.get(field)?.required === true;
      return Object.entries(facts.types[type] ?? {})
        .filter(([field]) => vendorFields(type)?.has(field) === true && vendorFields(type)?.get(field)?.type.name !== "Composite")
        .filter(([field, text]) => parseField(text).isRequired !== isRequiredThere(field))
        .map(([field]) => `${type}.${field}`);
    });
    expect(differing).toEqual([
      // Required in 2023-05-01: a group may have a profile since, whose containers it repeats in part.
      "ContainerGroupPropertiesProperties.osType",
      "ContainerProperties.image",
      // Required within `properties`, which itself is optional.
      "DeploymentExtensionSpecProperties.extensionType",
      "DeploymentExtensionSpecProperties.version",
    ]);
  });

  test("the SDK has none of the fields that are new since its api-version", () => {
    for (const path of newSince2023.fields) {
      const [type = "", field = ""] = path.split(".");
      expect([path, vendorFields(type)?.has(field)]).toEqual([path, false]);
      expect([path, facts.types[type]?.[field] !== undefined]).toEqual([path, true]);
    }
    for (const type of newSince2023.types) expect([type, vendorFields(type)]).toEqual([type, undefined]);
  });

  test("every type that a field names is known", () => {
    const used = Object.values(facts.types).flatMap((fields) =>
      Object.values(fields).map((text) => parseField(text).type.replace(/\[\]$|^map<|>$/g, "")),
    );
    const scalars = ["string", "integer", "number", "boolean", "object"];
    expect(used.filter((type) => !scalars.includes(type) && !(type in facts.types) && !(type in facts.enums))).toEqual([]);
  });
});

describe("schemaProblem", () => {
  const bodies: readonly (readonly [string, object, string | undefined])[] = [
    ["a complete body is accepted", groupBody(), undefined],
    ["an unknown field", groupBody({ hostNetwork: true } as object), "unknown properties.hostNetwork"],
    ["an unknown field of a container", withContainer({ args: ["a"] }), "unknown properties.containers[0].properties.args"],
    ["a missing name", groupBody({ containers: [{ properties: {} }] } as object), "missing properties.containers[0].name"],
    ["no containers", { location: "x", properties: {} }, "missing properties.containers"],
    [
      "text instead of a number",
      withContainer({ resources: { requests: { cpu: "1", memoryInGB: 1 } } }),
      "type properties.containers[0].properties.resources.requests.cpu",
    ],
    [
      "a fraction instead of an integer",
      withContainer({ ports: [{ port: 80.5 }] }),
      "type properties.containers[0].properties.ports[0].port",
    ],
    ["an object instead of a list", groupBody({ volumes: {} } as object), "type properties.volumes"],
    ["an unknown value of an enum", groupBody({ restartPolicy: "Sometimes" }), "enum properties.restartPolicy"],
    ["an enum in another case is accepted", groupBody({ restartPolicy: "never" }), undefined],
    ["a number as a tag", { ...groupBody(), tags: { a: 1 } }, "type tags['a']"],
    ["read-only fields are accepted", { ...groupBody(), id: "x", name: "y" }, undefined],
    ["null is an absent field", groupBody({ volumes: null } as object), undefined],
    ["a body that is no object", [], "type "],
  ];

  test.for(bodies)("%s", ([, body, expected]) => {
    const problem = schemaProblem(facts, "ContainerGroup", body);
    expect(problem && `${problem.kind} ${problem.path}`).toBe(expected);
  });
});

test("facts are extracted from a Swagger document, with the types that the roots use", () => {
  const document = {
    definitions: {
      Root: {
        type: "object",
        allOf: [{ $ref: "../../common-types/resource-management/v5/types.json#/definitions/ProxyResource" }],
        properties: {
          kind: { $ref: "#/definitions/Kind" },
          parts: { type: "array", items: { $ref: "#/definitions/Part" } },
          labels: { type: "object", additionalProperties: { type: "string" } },
          mode: { type: "string", enum: ["a", "b"], "x-ms-enum": { name: "Mode" } },
          state: { type: "string", readOnly: true },
          any: {},
        },
        required: ["kind"],
      },
      Kind: { type: "string", enum: ["One", "Two"] },
      Part: { type: "object", properties: { size: { type: "integer" } } },
      Unused: { type: "object" },
    },
  };

  expect(extractFacts(document, ["Root"], "a test")).toEqual({
    source: "a test",
    enums: { Kind: ["One", "Two"], Mode: ["a", "b"] },
    types: {
      Part: { size: "integer" },
      Root: {
        id: "string-",
        name: "string-",
        type: "string-",
        systemData: "object-",
        kind: "Kind!",
        parts: "Part[]",
        labels: "map<string>",
        mode: "Mode",
        state: "string-",
        any: "object",
      },
    },
  });
  expect(() => extractFacts(document, ["Missing"], "a test")).toThrow("no definition Missing");
});

function withContainer(properties: object): object {
  const [container] = groupBody().properties.containers;
  return groupBody({ containers: [{ name: "app", properties: { ...container?.properties, ...properties } }] });
}
