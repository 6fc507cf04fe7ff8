import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { FakeCloud } from "./fake/fake-cloud.ts";
import { cloudPassword } from "./fake/fake-keystone.ts";
import { exportSchemas, startRealZun, type RealZun } from "./zun-api/start-zun-api.ts";

// The fake replaces Zun in other tests, so it must refuse the same requests as Zun, with the same status and code.

let real: RealZun;
let fake: FakeCloud;

beforeAll(async () => {
  real = await startRealZun();
  fake = await FakeCloud.start();
});
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
  await fake?.[Symbol.asyncDispose]();
});

/** Sends a request unchanged, with a token, and returns status and code of the response. */
async function ask(
  where: "real" | "fake",
  method: string,
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly code: string | undefined }> {
  const cloud = where === "real" ? real.cloud : fake;
  const base = where === "real" ? real.url : fake.keystone.urls.container;
  const auth = {
    identity: { methods: ["password"], password: { user: { name: "demo", domain: { id: "default" }, password: cloudPassword } } },
  };
  const signedIn = await fetch(`${cloud.keystone.urls.identity}/v3/auth/tokens`, { method: "POST", body: JSON.stringify({ auth }) });
  const headers = {
    "x-auth-token": signedIn.headers.get("x-subject-token") ?? "",
    "openstack-api-version": "container 1.40",
    "content-type": "application/json",
  };
  const answer = await fetch(`${base}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  const { errors } = (text === "" ? {} : JSON.parse(text)) as { readonly errors?: readonly { readonly code: string }[] };
  return { status: answer.status, code: errors?.[0]?.code };
}

const capsule = (spec: object): object => ({ template: { kind: "capsule", metadata: { name: "ab" }, spec } });
const nowhere = "9d5ef7a8-0a8c-4b9c-8b1e-000000000000";

describe("the fake gives the same responses as Zun", () => {
  test.for<[string, string, string, object?]>([
    ["a name that is too short", "POST", "/containers/", { name: "x", image: "nginx" }],
    ["an image that is missing", "POST", "/containers/", { name: "ab" }],
    ["too little processor", "POST", "/containers/", { image: "nginx", cpu: 0.05 }],
    ["too much memory", "POST", "/containers/", { image: "nginx", memory: 9000 }],
    ["an environment with numbers", "POST", "/containers/", { image: "nginx", environment: { A: 1 } }],
    ["a network and a port at once", "POST", "/containers/", { image: "nginx", nets: [{ network: "a", port: "b" }] }],
    ["an unknown key", "POST", "/containers/", { image: "nginx", limits: {} }],
    ["a restart policy of Kubernetes", "POST", "/containers/", { image: "nginx", restart_policy: { Name: "Always" } }],
    ["a mount without a destination", "POST", "/containers/", { image: "nginx", mounts: [{ source: "a" }] }],
    ["an image pull policy", "POST", "/containers/", { image: "nginx", image_pull_policy: "always" }],
    ["a query it does not know", "POST", "/containers/?walk=true", { image: "nginx" }],
    ["a capsule with limits", "POST", "/capsules/", capsule({ containers: [{ image: "nginx", resources: { limits: { cpu: 1 } } }] })],
    [
      "a capsule with an emptyDir",
      "POST",
      "/capsules/",
      capsule({ containers: [{ image: "nginx" }], volumes: [{ name: "vv", emptyDir: {} }] }),
    ],
    ["a capsule without containers", "POST", "/capsules/", { template: { kind: "capsule", metadata: {}, spec: {} } }],
    ["a container that is not there", "GET", `/containers/${nowhere}`],
    ["the logs of a container that is not there", "GET", `/containers/${nowhere}/logs`],
    ["a restart of a container that is not there", "POST", `/containers/${nowhere}/reboot?timeout=5`],
    ["a capsule that is not there", "DELETE", `/capsules/${nowhere}`],
  ])("to %s", async ([, method, path, body]) => {
    expect(await ask("fake", method, path, body)).toEqual(await ask("real", method, path, body));
  });

  test("with Zun's schemas", () => {
    const { schemas } = JSON.parse(readFileSync(new URL("./fake/zun-schemas.json", import.meta.url), "utf8")) as {
      readonly schemas: unknown;
    };
    expect(schemas).toEqual(exportSchemas());
  });
});
