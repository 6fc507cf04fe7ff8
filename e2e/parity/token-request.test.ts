import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const request = (spec: object): object => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });

// oxlint-disable-next-line typescript/no-explicit-any -- claims of every kind
function claimsOf(answer: Answer): any {
  return JSON.parse(Buffer.from(answer.body.status.token.split(".")[1], "base64url").toString());
}

test("a token for a service account lasts an hour, for the API server's audience", async ({ api, core, namespace }) => {
  const answer = await api.post(`${core}/serviceaccounts/default/token`, request({}));
  const { exp, iat, nbf, jti, aud, iss, ...claims } = claimsOf(answer);

  expect(answer.status).toBe(201);
  expect({ ...answer.body, status: { ...answer.body.status, token: "TOKEN" } }).toMatchInlineSnapshot(`
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: {
        creationTimestamp: "TIME",
        name: "default",
        namespace: "NAMESPACE",
        uid: "UID",
      },
      spec: {audiences: ["https://kubernetes.default.svc.cluster.local"], boundObjectRef: null, expirationSeconds: 3600},
      status: {expirationTimestamp: "TIME", token: "TOKEN"},
    }
  `);
  expect(exp - iat).toBe(3600);
  expect(nbf).toBe(iat);
  expect(jti).toMatch(/^[0-9a-f-]{36}$/);
  expect(aud).toEqual([iss]);
  expect(claims).toMatchInlineSnapshot(`
    {
      kubernetes.io: {namespace: "NAMESPACE", serviceaccount: {name: "default", uid: "UID"}},
      sub: "system:serviceaccount:NAMESPACE:default",
    }
  `);
  expect(claims["kubernetes.io"].namespace).toBe(namespace);
});

test("a token can be bound to a pod and have its own audiences and lifetime", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));
  const answer = await api.post(
    `${core}/serviceaccounts/default/token`,
    request({
      audiences: ["vault"],
      expirationSeconds: 700,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: pod.metadata.uid },
    }),
  );
  const claims = claimsOf(answer);

  expect(answer.status).toBe(201);
  expect(claims.aud).toEqual(["vault"]);
  expect(claims.exp - claims.iat).toBe(700);
  expect(claims["kubernetes.io"]).toMatchInlineSnapshot(`
    {
      namespace: "NAMESPACE",
      pod: {name: "web", uid: "UID"},
      serviceaccount: {name: "default", uid: "UID"},
    }
  `);
});

test("an invalid token request is refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  const ask = (spec: object, account = "default"): Promise<Answer> => api.post(`${core}/serviceaccounts/${account}/token`, request(spec));

  expect(await ask({ expirationSeconds: 5 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.expirationSeconds",
            message: "Invalid value: 5: may not specify a duration less than 10 minutes",
            reason: "FieldValueInvalid",
          },
        ],
        group: "authentication.k8s.io",
        kind: "TokenRequest",
      },
      message: 'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
      reason: "Invalid",
    }
  `);
  expect(await ask({ expirationSeconds: 2 ** 33 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.expirationSeconds",
            message: "Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds",
            reason: "FieldValueInvalid",
          },
        ],
        group: "authentication.k8s.io",
        kind: "TokenRequest",
      },
      message: 'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds',
      reason: "Invalid",
    }
  `);
  expect(await ask({}, "nobody")).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "serviceaccounts", name: "nobody"}, message: 'serviceaccounts "nobody" not found', reason: "NotFound"}`,
  );
  expect(await ask({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "none" } })).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
  expect(await ask({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: "other" } })).toMatchInlineSnapshot(`
    409 Failure {
      details: {kind: "Pod", name: "web"},
      message: 'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (other) does not match the UID in record. The object might have been deleted and then recreated',
      reason: "Conflict",
    }
  `);
  expect(await ask({ boundObjectRef: { apiVersion: "v1", kind: "ConfigMap", name: "a" } })).toMatchInlineSnapshot(
    `400 Failure {message: "cannot bind token to object of type /v1, Kind=ConfigMap", reason: "BadRequest"}`,
  );
});

test("a token cannot be bound to a pod with another service account", async ({ api, core }) => {
  await api.create(`${core}/serviceaccounts`, { metadata: { name: "robot" } });
  await api.create(`${core}/pods`, podNamed("web"));

  expect(
    await api.post(`${core}/serviceaccounts/robot/token`, request({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web" } })),
  ).toMatchInlineSnapshot(
    `400 Failure {message: 'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.', reason: "BadRequest"}`,
  );
});

test("a token review returns the user, and refuses the token of a deleted pod", async ({ api, core }) => {
  const pod = await api.create(`${core}/pods`, podNamed("web"));
  const { body } = await api.post(
    `${core}/serviceaccounts/default/token`,
    request({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: pod.metadata.uid } }),
  );
  const review = async (): Promise<Answer["body"]> => {
    const answer = await api.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: body.status.token } });
    return { ...answer.body, spec: "SPEC" };
  };

  const valid = await review();
  expect({ ...valid, status: { ...valid.status, audiences: valid.status.audiences.length } }).toMatchInlineSnapshot(`
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      metadata: {},
      spec: "SPEC",
      status: {
        audiences: 1,
        authenticated: true,
        user: {
          extra: {
            authentication.kubernetes.io/credential-id: ["JTI=UID"],
            authentication.kubernetes.io/pod-name: ["web"],
            authentication.kubernetes.io/pod-uid: ["UID"],
          },
          groups: ["system:serviceaccounts", "system:serviceaccounts:NAMESPACE", "system:authenticated"],
          uid: "UID",
          username: "system:serviceaccount:NAMESPACE:default",
        },
      },
    }
  `);
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });
  // The real server accepts a token for ten more seconds.
  await eventually(async () => expect((await review()).status.authenticated).not.toBe(true), { timeoutMs: 50_000, intervalMs: 500 });
});

test("a review of an invalid token returns that it is not authenticated", async ({ api }) => {
  const { status, body } = await api.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "nonsense" } });

  expect(status).toBe(201);
  expect(body.status.authenticated).not.toBe(true);
});

test("a self review shows that the administrator may do everything", async ({ api }) => {
  const answer = await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    spec: { resourceAttributes: { verb: "delete", resource: "nodes" } },
  });

  expect(answer.status).toBe(201);
  expect(answer.body.status.allowed).toBe(true);
});
