import { createHash } from "node:crypto";
import type { Kind } from "../kinds/kind.ts";
import { openApiDefinitions, type OpenApiSchema } from "../kinds/schema/schema.ts";
import {
  type AggregatedVersions,
  type ApiResource,
  apiResources,
  type BodyKind,
  type GroupVersion,
  groupVersions,
} from "./api-resources.ts";

/** OpenAPI document of one group and version. */
export interface OpenApiDocument {
  readonly body: Uint8Array;
  /** Hash of the document, which clients use as a cache key. */
  readonly hash: string;
}

/** Document at `/openapi/v3`: the index of the other documents. */
export function openApiIndex(kinds: readonly Kind[], aggregated?: AggregatedVersions): unknown {
  const entry = (groupVersion: GroupVersion): [path: string, item: object] => {
    const path = documentPath(groupVersion);
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${openApiDocument(groupVersion, kinds)?.hash}` }];
  };
  return { paths: { ...Object.fromEntries(groupVersions(kinds).map(entry)), ...aggregated?.openApiPaths() } };
}

/** Such as `api/v1` or `apis/apps/v1`. */
function documentPath({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** Documents of built-in kinds, cached because each takes milliseconds to build. */
const documents = new Map<string, OpenApiDocument>();

/** OpenAPI v3 document of a group and version; `undefined` if it does not exist. */
export function openApiDocument(groupVersion: GroupVersion, kinds: readonly Kind[]): OpenApiDocument | undefined {
  const key = documentPath(groupVersion);
  const resources = apiResources(groupVersion, kinds);
  if (resources.length === 0) return undefined;
  const isFixed = resources.every(({ kind }) => kind.custom === undefined);
  const known = isFixed ? documents.get(key) : undefined;
  if (known !== undefined) return known;
  const body = Buffer.from(JSON.stringify(makeDocument(groupVersion, resources)));
  const made = { body, hash: createHash("sha512").update(body).digest("hex").toUpperCase() };
  if (isFixed) documents.set(key, made);
  return made;
}

function makeDocument(groupVersion: GroupVersion, resources: readonly ApiResource[]): unknown {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths: Object.fromEntries(resources.flatMap((resource) => pathItems(resource, `/${documentPath(groupVersion)}`))),
    components: { schemas: schemasOf(resources) },
  };
}

const queryParameter = (name: string, type: string, description: string): object => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});

/** kubectl checks for `fieldValidation` here before it uses the parameter. */
const writeParameters = [
  queryParameter(
    "dryRun",
    "string",
    "When present, indicates that modifications should not be persisted. Valid values are: - All: all dry run stages will be processed",
  ),
  queryParameter("fieldManager", "string", "fieldManager is a name associated with the actor or entity that is making these changes."),
  queryParameter(
    "fieldValidation",
    "string",
    "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown fields. Valid values are: Ignore, Warn (default), Strict.",
  ),
];
const listParameters = [
  queryParameter("fieldSelector", "string", "A selector to restrict the list of returned objects by their fields. Defaults to everything."),
  queryParameter("labelSelector", "string", "A selector to restrict the list of returned objects by their labels. Defaults to everything."),
  queryParameter("limit", "integer", "limit is a maximum number of responses to return for a list call."),
  queryParameter(
    "watch",
    "boolean",
    "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications.",
  ),
];

function pathItems({ kind, verbs, subresources }: ApiResource, root: string): [path: string, item: object][] {
  const own: BodyKind = { group: kind.group, version: kind.version, kind: kind.kind };
  const body = { $ref: `#/components/schemas/${kind.schema}` };
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
  const parameters = kind.namespaced ? [pathParameter("namespace")] : [];
  if (!verbs.includes("get")) return [[collection, { post: operation("post", own, body, writeParameters), parameters }]];
  const list = operation("list", own, undefined, listParameters);
  const items: [string, object][] = [
    [
      collection,
      { get: list, post: operation("post", own, body, writeParameters), delete: operation("deletecollection", own), parameters },
    ],
    [
      `${collection}/{name}`,
      {
        get: operation("get", own, body),
        put: operation("put", own, body, writeParameters),
        patch: operation("patch", own, body, writeParameters),
        delete: operation("delete", own),
        parameters: [...parameters, pathParameter("name")],
      },
    ],
    ...subresources.map(({ name, body: bodyKind, verbs }): [string, object] => [
      `${collection}/{name}/${name}`,
      {
        ...Object.fromEntries(verbs.map((verb) => subresourceOperation(verb, bodyKind))),
        parameters: [...parameters, pathParameter("name")],
      },
    ]),
  ];
  if (kind.namespaced) items.push([`${root}/${kind.plural}`, { get: list }]);
  return items;
}

const methods: Readonly<Record<string, string>> = { create: "post", get: "get", patch: "patch", update: "put" };

function subresourceOperation(verb: string, body: BodyKind): [method: string, operation: object] {
  const method = methods[verb] ?? verb;
  return [method, operation(method, body, undefined, method === "get" ? [] : writeParameters)];
}

function operation(action: string, kind: BodyKind, body?: OpenApiSchema, parameters: readonly object[] = []): object {
  return {
    parameters,
    ...(body !== undefined && action !== "get"
      ? { requestBody: { required: true, content: { "application/json": { schema: body } } } }
      : {}),
    responses: { 200: { description: "OK", ...(body === undefined ? {} : { content: { "application/json": { schema: body } } }) } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group: kind.group, version: kind.version, kind: kind.kind },
  };
}

function pathParameter(name: string): object {
  return { name, in: "path", required: true, schema: { type: "string", uniqueItems: true } };
}

/** Schemas of the resources and of everything they reference. */
function schemasOf(resources: readonly ApiResource[]): Record<string, OpenApiSchema> {
  const custom = resources.flatMap(({ kind }) => (kind.custom === undefined ? [] : [[kind.schema, kind.custom.openApi] as const]));
  const definitions = { ...openApiDefinitions(), ...Object.fromEntries(custom) };
  const found: Record<string, OpenApiSchema> = {};
  const open = resources.flatMap(({ kind, subresources }) => [
    kind.schema,
    ...subresources.filter(({ body }) => body.kind !== kind.kind).map(({ body }) => bodyDefinition(body)),
  ]);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const schema = definitions[name];
    if (schema === undefined || found[name] !== undefined) continue;
    found[name] = schema;
    open.push(...references(schema));
  }
  return found;
}

function bodyDefinition({ group, version, kind }: BodyKind): string {
  return `io.k8s.api.${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === "$ref" && typeof child === "string" ? [child.slice(child.lastIndexOf("/") + 1)] : references(child),
  );
}
