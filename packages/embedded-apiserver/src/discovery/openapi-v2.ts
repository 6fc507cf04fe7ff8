import { createHash } from "node:crypto";
import { componentStatusKind } from "../kinds/component-status.ts";
import type { Kind } from "../kinds/kind.ts";
import { once } from "../kinds/schema/once.ts";
import { openApiDefinitions } from "../kinds/schema/schema.ts";
import { parseAccept } from "../http/negotiation.ts";
import { apiResources, groupVersions } from "./api-resources.ts";
import type { DiscoveryResponse } from "./discovery-response.ts";
import { encodeOpenApiV2 } from "./openapi-v2-protobuf.ts";
import { builtInSchema, customSchema, type OpenApiV2Schema } from "./openapi-v2-schema.ts";
import { listDefinition } from "./openapi-lists.ts";
import { pathItems, type Operation, type Parameter, type PathItem } from "./openapi-paths.ts";
import { documentPath, kubernetesInfo } from "./openapi.ts";

interface OpenApiV2 {
  readonly json: Uint8Array;
  readonly etag: string;
  readonly protobuf: () => Uint8Array;
}

const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** Accepted types, by the type of the response; source: k8s.io/kube-openapi pkg/handler/handler.go. */
const accepted: readonly (readonly [accepted: string, response: string])[] = [
  ["application/json", "application/json"],
  ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", protobufType],
  [protobufType, protobufType],
];

/** Response of `/openapi/v2`: the document of all kinds in JSON or protobuf; 406 for other types. */
export function openApiV2Response(accept: string | undefined, kinds: readonly Kind[]): DiscoveryResponse {
  const type = acceptedType(accept === undefined || accept === "" ? "*/*" : accept);
  if (type === undefined)
    return { status: 406, headers: { "cache-control": "no-cache, private", vary: "Accept-Encoding, Accept" }, body: new Uint8Array(0) };
  const { json, etag, protobuf } = document(kinds);
  return {
    status: 200,
    headers: { "cache-control": "no-cache, private", "content-type": type, vary: "Accept-Encoding, Accept", etag: `"${etag}"` },
    body: type === protobufType ? protobuf() : json,
  };
}

function acceptedType(accept: string): string | undefined {
  for (const { type: range } of parseAccept(accept)) {
    const found = accepted.find(([type]) => range === type || range === "application/*" || range === "*/*");
    if (found !== undefined) return found[1];
  }
  return undefined;
}

/** Last document of a server, which is valid as long as it serves the same kinds. */
const documents = new WeakMap<readonly Kind[], { readonly kinds: readonly Kind[]; readonly document: OpenApiV2 }>();

function document(kinds: readonly Kind[]): OpenApiV2 {
  const known = documents.get(kinds);
  if (known?.kinds.length === kinds.length && known.kinds.every((kind, index) => kind === kinds[index])) return known.document;
  const content = makeDocument(kinds);
  const json = Buffer.from(JSON.stringify(content));
  const etag = createHash("sha512").update(json).digest("hex").toUpperCase();
  const made = { json, etag, protobuf: once(() => encodeOpenApiV2(JSON.parse(json.toString()) as OpenApiV2Schema)) };
  documents.set(kinds, { kinds: [...kinds], document: made });
  return made;
}

function makeDocument(kinds: readonly Kind[]): OpenApiV2Schema {
  return {
    swagger: "2.0",
    info: kubernetesInfo,
    paths: sorted(
      groupVersions(kinds).flatMap((groupVersion) =>
        apiResources(groupVersion, kinds).flatMap((resource) =>
          pathItems(resource, `/${documentPath(groupVersion)}`).map(
            ([path, item]) => [path, pathItemV2(item, patchTypesOf(resource.kind))] as const,
          ),
        ),
      ),
    ),
    definitions: sorted([...builtInDefinitions(), ...[componentStatusKind, ...kinds].flatMap(kindDefinitions)]),
    securityDefinitions: {
      BearerToken: { description: "Bearer Token authentication", type: "apiKey", name: "authorization", in: "header" },
    },
    security: [{ BearerToken: [] }],
  };
}

/** Converted once for all servers of the process. */
const builtInDefinitions = once((): readonly (readonly [name: string, schema: OpenApiV2Schema])[] =>
  Object.entries(openApiDefinitions()).map(([name, schema]) => [name, builtInSchema(name, schema)]),
);

/** A custom resource's definition, and the list of every kind that has one. */
function kindDefinitions(kind: Kind): (readonly [name: string, schema: OpenApiV2Schema])[] {
  const { custom, schema, verbs } = kind;
  const own = custom === undefined ? [] : [[schema, customSchema(custom.openApi)] as const];
  if (verbs?.includes("list") === false) return own;
  const [name, list] = listDefinition(kind);
  return [...own, [name, builtInSchema(name, list)]];
}

function pathItemV2({ parameters, ...operations }: PathItem, patchTypes: readonly string[]): OpenApiV2Schema {
  return {
    ...Object.fromEntries(
      Object.entries(operations as Readonly<Record<string, Operation>>).map(([method, one]) => [method, operationV2(one, patchTypes)]),
    ),
    ...(parameters === undefined ? {} : { parameters: parameters.map(parameterV2) }),
  };
}

function operationV2({ parameters, requestBody, responses, ...rest }: Operation, patchTypes: readonly string[]): OpenApiV2Schema {
  const body = requestBody?.content["application/json"].schema;
  return {
    ...rest,
    consumes: rest["x-kubernetes-action"] === "patch" ? patchTypes : ["*/*"],
    produces: ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"],
    schemes: ["https"],
    parameters: [
      ...(body === undefined ? [] : [{ in: "body", name: "body", required: true, schema: builtInSchema("", body) }]),
      ...parameters.map(parameterV2),
    ],
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, { description, content }]) => [
        code,
        { description, ...(content === undefined ? {} : { schema: builtInSchema("", content["application/json"].schema) }) },
      ]),
    ),
  };
}

/** kubectl uses strategic merge patches where they are listed. */
function patchTypesOf({ custom }: Kind): readonly string[] {
  const types = ["application/json-patch+json", "application/merge-patch+json"];
  return [...types, ...(custom === undefined ? ["application/strategic-merge-patch+json"] : []), "application/apply-patch+yaml"];
}

function parameterV2({ schema, ...rest }: Parameter): OpenApiV2Schema {
  return { ...rest, ...schema };
}

function sorted<T>(entries: readonly (readonly [name: string, value: T])[]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
