import { expect, test } from "vitest";
import { boundPod, podPath, podsPath, startTestServer, type TestServer } from "../test-support/test-server.ts";

const tokenPath = "/api/v1/namespaces/default/serviceaccounts/default/token";
const reviewsPath = "/apis/authentication.k8s.io/v1/tokenreviews";

async function podToken(server: TestServer): Promise<string> {
  const { body } = await server.request("POST", tokenPath, { spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "a" } } });
  return body.status.token as string;
}

async function statusWith(server: TestServer, token: string): Promise<number> {
  const response = await server.server.transport().request({
    method: "GET",
    path: "/api",
    headers: { authorization: `Bearer ${token}` },
    pool: "short",
    signal: new AbortController().signal,
  });
  return response.status;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

test("a token contains its service account, pod and node, and authenticates requests", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const { body: pod } = await server.request("POST", podsPath, boundPod("a"));

  const token = await podToken(server);

  expect(claimsOf(token)).toMatchObject({
    iss: "https://kubernetes.default.svc.cluster.local",
    sub: "system:serviceaccount:default:default",
    aud: ["https://kubernetes.default.svc.cluster.local"],
    iat: Date.UTC(2026, 0, 1) / 1000,
    exp: Date.UTC(2026, 0, 1) / 1000 + 3600,
    "kubernetes.io": {
      namespace: "default",
      serviceaccount: { name: "default" },
      pod: { name: "a", uid: pod.metadata.uid },
      node: { name: "n1" },
    },
  });
  expect(await statusWith(server, token)).toBe(200);
});

test("a token is valid until it expires or its pod is deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const token = await podToken(server);
  const { body } = await server.request("POST", tokenPath, { spec: { expirationSeconds: 600 } });

  await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 0 });
  const afterDeletion = await statusWith(server, token);
  const before = await statusWith(server, body.status.token);
  await server.clock.advance(600_000);

  expect([afterDeletion, before, await statusWith(server, body.status.token)]).toEqual([401, 200, 401]);
  expect(body.status.expirationTimestamp).toBe("2026-01-01T00:10:00Z");
});

test("a token for another audience is refused as a credential, but a review identifies its user", async () => {
  await using server = await startTestServer();
  const { body } = await server.request("POST", tokenPath, { spec: { audiences: ["vault"] } });
  const token: string = body.status.token;

  const review = await server.request("POST", reviewsPath, { spec: { token, audiences: ["vault"] } });
  const other = await server.request("POST", reviewsPath, { spec: { token } });

  expect(await statusWith(server, token)).toBe(401);
  expect(review.body.status).toMatchObject({
    authenticated: true,
    audiences: ["vault"],
    user: { username: "system:serviceaccount:default:default", groups: expect.arrayContaining(["system:serviceaccounts"]) },
  });
  expect(other.body.status.authenticated).toBeUndefined();
});

test("a forged token is refused", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const [header, payload, signature] = (await podToken(server)).split(".");
  const forged = Buffer.from(JSON.stringify({ ...claimsOf(`.${payload}`), sub: "system:serviceaccount:kube-system:default" })).toString(
    "base64url",
  );

  expect(await statusWith(server, `${header}.${forged}.${signature}`)).toBe(401);
});

test.each([
  [{ spec: { expirationSeconds: 60 } }, 422, "may not specify a duration less than 10 minutes"],
  [{ spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "nope" } } }, 404, 'pods "nope" not found'],
  [{ spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "a", uid: "other" } } }, 409, "does not match the UID in record"],
  [{ spec: { boundObjectRef: { kind: "Foo", apiVersion: "v1", name: "a" } } }, 400, "cannot bind token to object of type /v1, Kind=Foo"],
])("the token request %j is refused with %i", async (request, code, message) => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { status, body } = await server.request("POST", tokenPath, request);

  expect(status).toBe(code);
  expect(body.message).toContain(message);
});

test("access reviews deny access that no role grants", async () => {
  await using server = await startTestServer();

  const { status, body } = await server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    spec: { user: "x", resourceAttributes: { verb: "get", resource: "pods" } },
  });

  expect(status).toBe(201);
  expect(body.status).toEqual({ allowed: false });
});
