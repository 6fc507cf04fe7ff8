import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const container = (name: string, more: object = {}): object => ({ name, image: "main:1", ...more });

test("a pod gets its service account, a token volume, tolerations and a priority", async ({ api, core }) => {
  const pod = await api.create(
    `${core}/pods`,
    podNamed("a", {
      automountServiceAccountToken: undefined,
      initContainers: [container("init")],
      containers: [
        container("one"),
        container("two", { volumeMounts: [{ name: "own", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }] }),
      ],
      volumes: [{ name: "own", emptyDir: {} }],
    }),
  );
  const { serviceAccountName, serviceAccount, volumes, tolerations, priority, preemptionPolicy } = pod.spec;
  const mounts = [...pod.spec.initContainers, ...pod.spec.containers].map(({ volumeMounts }: { volumeMounts: unknown }) => volumeMounts);

  expect({ serviceAccountName, serviceAccount, priority, preemptionPolicy, tolerations }).toMatchInlineSnapshot(`
    {
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      serviceAccount: "default",
      serviceAccountName: "default",
      tolerations: [
        {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300},
        {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
      ],
    }
  `);
  expect(volumes).toMatchInlineSnapshot(`
    [
      {emptyDir: {}, name: "own"},
      {
        name: "kube-api-access-SUFFIX",
        projected: {
          defaultMode: 420,
          sources: [
            {serviceAccountToken: {expirationSeconds: 3607, path: "token"}},
            {configMap: {items: [{key: "ca.crt", path: "ca.crt"}], name: "kube-root-ca.crt"}},
            {downwardAPI: {items: [{fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}, path: "namespace"}]}},
          ],
        },
      },
    ]
  `);
  expect(mounts).toMatchInlineSnapshot(`
    [
      [{mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "kube-api-access-SUFFIX", readOnly: true}],
      [{mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "kube-api-access-SUFFIX", readOnly: true}],
      [{mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", name: "own"}],
    ]
  `);
});

test("tolerations for an unreachable node are not added twice", async ({ api, core }) => {
  const tolerations = [{ key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }];
  const one = await api.create(`${core}/pods`, podNamed("one", { tolerations }));
  const all = await api.create(`${core}/pods`, podNamed("all", { tolerations: [{ operator: "Exists" }] }));

  expect(one.spec.tolerations).toMatchInlineSnapshot(`
    [
      {effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 5},
      {effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300},
    ]
  `);
  expect(all.spec.tolerations).toMatchInlineSnapshot(`[{operator: "Exists"}]`);
});

test("a service account determines whether its token is mounted, and the image pull secrets", async ({ api, core }) => {
  await api.create(`${core}/serviceaccounts`, {
    metadata: { name: "robot" },
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "registry" }],
  });
  const quiet = await eventually(async () => {
    const answer = await api.post(
      `${core}/pods`,
      podNamed("quiet", { serviceAccountName: "robot", automountServiceAccountToken: undefined }),
    );
    expect(answer.status).toBe(201);
    return answer.body;
  });
  const loud = await api.create(
    `${core}/pods`,
    podNamed("loud", { serviceAccountName: "robot", automountServiceAccountToken: true, imagePullSecrets: [{ name: "own" }] }),
  );

  expect([quiet.spec.volumes, quiet.spec.imagePullSecrets]).toMatchInlineSnapshot(`[undefined, [{name: "registry"}]]`);
  expect([loud.spec.volumes.length, loud.spec.imagePullSecrets]).toMatchInlineSnapshot(`[1, [{name: "own"}]]`);
});

test("a pod with a missing service account is refused", async ({ api, core }) => {
  expect(await api.post(`${core}/pods`, podNamed("a", { serviceAccountName: "none" }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "a"},
      message: 'pods "a" is forbidden: error looking up service account NAMESPACE/none: serviceaccount "none" not found',
      reason: "Forbidden",
    }
  `);
});

test("a mirror pod may have neither a service account nor a token", async ({ api, core }) => {
  const annotations = { "kubernetes.io/config.mirror": "x" };
  const created = await api.create(
    `${core}/pods`,
    podNamed("a", { nodeName: "n1", automountServiceAccountToken: undefined }, { annotations }),
  );

  expect([created.spec.serviceAccountName, created.spec.volumes]).toMatchInlineSnapshot(`[undefined, undefined]`);
  expect(await api.post(`${core}/pods`, podNamed("b", { nodeName: "n1", serviceAccountName: "default" }, { annotations })))
    .toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "b"},
      message: 'pods "b" is forbidden: a mirror pod may not reference service accounts',
      reason: "Forbidden",
    }
  `);
});

test("a token may be bound to a secret, and becomes invalid when the secret is deleted", async ({ api, core }) => {
  const secret = await api.create(`${core}/secrets`, { metadata: { name: "s" } });
  const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "s", uid: secret.metadata.uid };
  const { status } = await api.create(`${core}/serviceaccounts/default/token`, { spec: { boundObjectRef } });
  const review = async (audiences?: readonly string[]): Promise<{ authenticated?: boolean; user: { extra?: object } }> =>
    (await api.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: status.token, audiences } })).body.status;
  const claims = JSON.parse(Buffer.from(status.token.split(".")[1], "base64url").toString());

  expect(claims["kubernetes.io"].secret).toEqual({ name: "s", uid: secret.metadata.uid });
  expect((await review()).authenticated).toBe(true);
  expect(Object.keys((await review()).user.extra ?? {})).toMatchInlineSnapshot(`["authentication.kubernetes.io/credential-id"]`);
  expect((await review(["vault"])).authenticated).not.toBe(true);
  await api.delete(`${core}/secrets/s`);
  await eventually(async () => expect((await review()).authenticated).not.toBe(true), { timeoutMs: 50_000, intervalMs: 500 });
});

test("a token bound to a node names it", async ({ api, core, namespace }) => {
  const node = await api.create("/api/v1/nodes", { metadata: { name: namespace } });
  const { status } = await api.create(`${core}/serviceaccounts/default/token`, {
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Node", name: namespace, uid: node.metadata.uid } },
  });
  const claims = JSON.parse(Buffer.from(status.token.split(".")[1], "base64url").toString());

  expect(claims["kubernetes.io"].node).toEqual({ name: namespace, uid: node.metadata.uid });
  await api.delete(`/api/v1/nodes/${namespace}`);
});

test("OpenID documents name the issuer and the key of tokens", async ({ api }) => {
  const { body: configuration } = await api.get("/.well-known/openid-configuration");
  const { body, headers } = await api.get("/openid/v1/jwks");

  expect({ ...configuration, jwks_uri: new URL(configuration.jwks_uri).pathname }).toEqual({
    issuer: "https://kubernetes.default.svc.cluster.local",
    jwks_uri: "/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  expect([headers["content-type"], headers["cache-control"]]).toEqual(["application/jwk-set+json", "public, max-age=3600"]);
  expect(body.keys).toMatchObject([{ use: "sig", kty: "EC", crv: "P-256", alg: "ES256" }]);
});
