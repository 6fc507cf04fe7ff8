import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { kinds } from "../kinds/index.ts";
import type { DiscoveryResponse } from "./discovery-response.ts";
import { discoveryResponse } from "./index.ts";

const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

function ask(path: string, accept?: string): DiscoveryResponse | undefined {
  const url = new URL(path, "http://server");
  return discoveryResponse(url.pathname, url.searchParams, accept);
}

function body(response: DiscoveryResponse | undefined): unknown {
  return response === undefined ? undefined : JSON.parse(Buffer.from(response.body).toString());
}

describe("discovery", () => {
  test("names the versions and groups", () => {
    expect(body(ask("/api"))).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    expect(body(ask("/apis"))).toMatchObject({
      kind: "APIGroupList",
    });
    expect((body(ask("/apis")) as { groups: { name: string }[] }).groups.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["apps", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"]),
    );
    expect(body(ask("/apis/apps"))).toMatchObject({
      kind: "APIGroup",
      name: "apps",
      preferredVersion: { groupVersion: "apps/v1", version: "v1" },
    });
  });

  test("names the resources of a group and version", () => {
    const list = body(ask("/api/v1")) as { resources: { name: string }[] };

    expect(list.resources.find(({ name }) => name === "pods")).toMatchObject({
      kind: "Pod",
      namespaced: true,
      shortNames: ["po"],
      categories: ["all"],
      singularName: "pod",
    });
    expect(list.resources.find(({ name }) => name === "pods/eviction")).toEqual({
      name: "pods/eviction",
      singularName: "",
      namespaced: true,
      group: "policy",
      version: "v1",
      kind: "Eviction",
      verbs: ["create"],
    });
    expect(body(ask("/apis/apps/v1"))).toMatchObject({ groupVersion: "apps/v1" });
  });

  test("lists resources that can only be created: bindings and reviews", () => {
    const list = body(ask("/apis/authorization.k8s.io/v1")) as { resources: { name: string; verbs: string[] }[] };
    const core = body(ask("/api/v1")) as { resources: { name: string; verbs: string[] }[] };

    expect(list.resources.map(({ name }) => name)).toContain("selfsubjectaccessreviews");
    expect(core.resources.find(({ name }) => name === "bindings")?.verbs).toEqual(["create"]);
    expect(core.resources.find(({ name }) => name === "namespaces")?.verbs).not.toContain("deletecollection");
    expect(core.resources.map(({ name }) => name)).toEqual(expect.arrayContaining(["pods/ephemeralcontainers", "pods/resize"]));
  });

  test("answers in one document", () => {
    const response = ask("/apis", `${v2},${v2beta1},application/json`);

    expect(response?.headers["content-type"]).toBe(v2);
    expect(body(response)).toMatchObject({
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      items: expect.arrayContaining([
        expect.objectContaining({
          metadata: { name: "apps" },
          versions: [expect.objectContaining({ version: "v1", freshness: "Current" })],
        }),
      ]),
    });
  });

  test("omits group and version of a kind if they equal the list's", () => {
    const list = body(ask("/apis", v2)) as { items: { versions: { resources: { resource: string; subresources: unknown[] }[] }[] }[] };
    const deployments = list.items
      .flatMap(({ versions }) => versions.flatMap(({ resources }) => resources))
      .find(({ resource }) => resource === "deployments");

    expect(deployments).toMatchObject({ responseKind: { group: "", version: "", kind: "Deployment" } });
    expect(deployments?.subresources[0]).toMatchObject({
      subresource: "scale",
      responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
    });
  });

  test.each([undefined, "*/*", "application/json", `application/json,${v2}`, `${v2beta1},application/json`])(
    "answers Accept: %s plainly",
    (accept) => {
      expect(body(ask("/apis", accept))).toMatchObject({ kind: "APIGroupList" });
    },
  );

  test.each(["/", "/api/v2", "/apis/none", "/apis/apps/v2", "/api/v1/pods", "/openapi/v3/apis/none/v1", "/version"])(
    "leaves %s to others",
    (path) => {
      expect(ask(path)).toBeUndefined();
    },
  );
});

describe("OpenAPI", () => {
  test("is found through the index under a cacheable hash", () => {
    const index = body(ask("/openapi/v3")) as { paths: Record<string, { serverRelativeURL: string }> };
    const url = index.paths["apis/apps/v1"]?.serverRelativeURL ?? "";

    expect(Object.keys(index.paths)).toEqual(
      expect.arrayContaining(["api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1", "apis/authorization.k8s.io/v1"]),
    );
    expect(ask(url)?.headers["cache-control"]).toContain("immutable");
    expect(ask("/openapi/v3/apis/apps/v1")?.headers["cache-control"]).toBe("no-cache, private");
  });

  test("declares fieldValidation for every kind", () => {
    const document = body(ask("/openapi/v3/api/v1")) as {
      paths: Record<string, { patch?: { parameters: { name: string }[]; "x-kubernetes-group-version-kind": unknown } }>;
    };
    const patch = document.paths["/api/v1/namespaces/{namespace}/pods/{name}"]?.patch;

    expect(patch?.["x-kubernetes-group-version-kind"]).toEqual({ group: "", version: "v1", kind: "Pod" });
    expect(patch?.parameters.map(({ name }) => name)).toContain("fieldValidation");
  });

  test("names the kind of each object's schema, by which kubectl explain finds it", () => {
    const missing = kinds.filter(({ group, version, kind }) => {
      const { components } = body(ask(`/openapi/v3/${group === "" ? "api" : `apis/${group}`}/${version}`)) as {
        components: { schemas: Record<string, { "x-kubernetes-group-version-kind"?: object[] }> };
      };
      const named = Object.values(components.schemas).flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []);
      return !named.some((each) => isDeepStrictEqual(each, { group, kind, version }));
    });

    expect(missing.map(({ kind }) => kind)).toEqual([]);
  });

  test("has every schema that it references", () => {
    const text = Buffer.from(ask("/openapi/v3/apis/apps/v1")?.body ?? []).toString();
    const { components } = JSON.parse(text) as { components: { schemas: object } };
    const referred = new Set(Array.from(text.matchAll(/"#\/components\/schemas\/([^"]+)"/g), ([, name]) => name));

    expect([...referred].filter((name) => name === undefined || !(name in components.schemas))).toEqual([]);
    expect(Object.keys(components.schemas)).toContain("io.k8s.api.autoscaling.v1.Scale");
  });
});
