import type { OpenApiSchema } from "../kinds/schema/schema.ts";
import type { ApiResource, BodyKind, GroupVersion } from "./api-resources.ts";
import { returnsDeleted } from "../kinds/returns-deleted.ts";
import { listDefinitionName } from "./openapi-lists.ts";

/** Parameter of the query or the path. */
export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: { readonly type: string; readonly uniqueItems: boolean };
}

interface Content {
  readonly "application/json": { readonly schema: OpenApiSchema };
}

/** An action of a path, in version 3. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly "x-kubernetes-action": string;
  readonly "x-kubernetes-group-version-kind": BodyKind;
}

/** Actions of a path, in version 3, by their method, and the parameters of all. */
export interface PathItem {
  readonly [method: string]: Operation | readonly Parameter[] | undefined;
  readonly parameters?: readonly Parameter[];
}

const queryParameter = (name: string, type: string, description: string): Parameter => ({
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
const patchParameters = [
  ...writeParameters,
  queryParameter(
    "force",
    "boolean",
    'Force is going to "force" Apply requests. It means user will re-acquire conflicting fields owned by other people.',
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

/** Paths of a resource below a group and version, such as `/apis/apps/v1`. */
export function pathItems({ kind, verbs, subresources }: ApiResource, root: string): [path: string, item: PathItem][] {
  const own: BodyKind = { group: kind.group, version: kind.version, kind: kind.kind };
  const scope = kind.namespaced ? "Namespaced" : "";
  const object = definition(kind.schema);
  const objects = definition(listDefinitionName(kind));
  const act = (action: string, name: string, content: OpenApiSchema, parameters: readonly Parameter[] = []): Operation =>
    operation(action, { body: own, name: `${scope}${kind.kind}${name}`, group: kind, content, parameters });
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`;
  const parameters = kind.namespaced ? [pathParameter("namespace")] : [];
  const isWritable = verbs.includes("create");
  if (!verbs.includes("get")) return [[collection, { post: act("post", "", object, writeParameters), parameters }]];
  const items: [string, PathItem][] = [
    [
      collection,
      {
        get: act("list", "", objects, listParameters),
        ...(isWritable ? { post: act("post", "", object, writeParameters) } : {}),
        ...(verbs.includes("deletecollection") ? { delete: act("deletecollection", "", status, listParameters) } : {}),
        parameters,
      },
    ],
    [
      `${collection}/{name}`,
      {
        get: act("get", "", object),
        ...(isWritable
          ? {
              put: act("put", "", object, writeParameters),
              patch: act("patch", "", object, patchParameters),
              delete: act("delete", "", returnsDeleted(kind) && kind.plural !== "namespaces" ? object : status),
            }
          : {}),
        parameters: [...parameters, pathParameter("name")],
      },
    ],
    ...subresources.map(({ name, body, verbs: subVerbs }): [string, PathItem] => [
      `${collection}/{name}/${name}`,
      {
        ...Object.fromEntries(
          subVerbs.map((verb) => {
            const method = methods[verb] ?? verb;
            const fullName = `${scope}${kind.kind}${capitalized(name)}`;
            if (isConnection(body))
              return [method, operation("connect", { body, name: fullName, group: kind, method, content: textSchema, parameters: [] })];
            const content = name === "log" ? textSchema : body.kind === kind.kind ? object : definition(bodyDefinition(body));
            const written = method === "get" ? [] : method === "patch" ? patchParameters : writeParameters;
            return [method, operation(method, { body, name: fullName, group: kind, content, parameters: written })];
          }),
        ),
        parameters: [...parameters, pathParameter("name")],
      },
    ]),
  ];
  if (kind.namespaced) {
    const all = operation("list", {
      body: own,
      name: `${kind.kind}ForAllNamespaces`,
      group: kind,
      content: objects,
      parameters: listParameters,
    });
    items.push([`${root}/${kind.plural}`, { get: all }]);
  }
  return items;
}

/** Whether a subresource is a connection, such as `pods/exec`: nothing of it is an object. */
export function isConnection({ kind }: BodyKind): boolean {
  return kind.endsWith("Options");
}

const methods: Readonly<Record<string, string>> = { create: "post", get: "get", patch: "patch", update: "put" };
/** First word of an operation's identifier, by action. */
const words: Readonly<Record<string, string>> = { post: "create", get: "read", put: "replace", deletecollection: "delete" };

interface OperationSubject {
  readonly body: BodyKind;
  /** Such as `NamespacedPodStatus`. */
  readonly name: string;
  /** Of the path. */
  readonly group: GroupVersion;
  /** Method of a connection. */
  readonly method?: string;
  /** Schema of what is written and read. */
  readonly content: OpenApiSchema;
  readonly parameters: readonly Parameter[];
}

function operation(action: string, { body, name, group, method = "", content, parameters }: OperationSubject): Operation {
  const json: Content = { "application/json": { schema: content } };
  const written: Content = action === "patch" ? { "application/json": { schema: patchSchema } } : json;
  const hasBody = action === "post" || action === "put" || action === "patch";
  const groupName = camelCase(group.group === "" ? "core" : group.group.replace(/\.k8s\.io$/, ""));
  const collection = action === "deletecollection" ? "Collection" : "";
  return {
    tags: [`${groupName}_${group.version}`],
    operationId: `${words[action] ?? action}${capitalized(groupName)}${capitalized(group.version)}${collection}${capitalized(method)}${name}`,
    parameters,
    ...(hasBody ? { requestBody: { required: true, content: written } } : {}),
    responses: { 200: { description: "OK", content: json }, 401: { description: "Unauthorized" } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group: body.group, version: body.version, kind: body.kind },
  };
}

const status = definition("io.k8s.apimachinery.pkg.apis.meta.v1.Status");
const textSchema: OpenApiSchema = { type: "string" };
const patchSchema: OpenApiSchema = {
  description: "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.",
  type: "object",
};

function definition(name: string): OpenApiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Definition of the body of a subresource. */
export function bodyDefinition({ group, version, kind }: BodyKind): string {
  return `io.k8s.api.${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}

function pathParameter(name: string): Parameter {
  return { name, in: "path", required: true, schema: { type: "string", uniqueItems: true } };
}

function camelCase(name: string): string {
  return name.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase());
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
