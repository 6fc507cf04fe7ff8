import { X509Certificate } from "node:crypto";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { asNode, asUser } from "./support/as-user.ts";
import type { Answer, Api } from "./support/api.ts";
import { certificateRequests } from "./support/certificate-requests.ts";
import { test } from "./support/parity-test.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const client = "kubernetes.io/kube-apiserver-client";
const kubeletClient = "kubernetes.io/kube-apiserver-client-kubelet";
const kubeletServing = "kubernetes.io/kubelet-serving";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

const csr = (
  name: string,
  request: keyof typeof certificateRequests,
  signerName: string,
  usages: readonly string[],
  more: object = {},
): object => ({
  metadata: { name },
  spec: { request: Buffer.from(certificateRequests[request]).toString("base64"), signerName, usages, ...more },
});

/** Response without the parts that are always the same. */
const plain = (answer: Answer): Answer => {
  if (answer.body.spec !== undefined) answer.body.spec.request = "REQUEST";
  return answer;
};

async function decide(api: Api, name: string, type: "Approved" | "Denied"): Promise<Answer> {
  const { body } = await api.get(`${path}/${name}`);
  const condition = { type, status: "True", reason: "ByTest", message: "by a test" };
  return await api.put(`${path}/${name}/approval`, {
    ...body,
    status: { ...body.status, conditions: [...(body.status.conditions ?? []), condition] },
  });
}

async function certificateOf(api: Api, name: string): Promise<X509Certificate> {
  const { status } = (
    await eventually(async () => {
      const answer = await api.get(`${path}/${name}`);
      expect(answer.body.status.certificate).toBeDefined();
      return answer;
    })
  ).body;
  return new X509Certificate(Buffer.from(status.certificate, "base64"));
}

test("a request records its user, and the certificate is issued after the approval", async ({ api, namespace }) => {
  const dana = asUser(api, "dana", "system:masters");
  const created = await dana("POST", path, {
    ...csr(namespace, "client", client, ["client auth", "digital signature"], { username: "liar", expirationSeconds: 3600 }),
  });
  expect(plain(created)).toMatchInlineSnapshot(`
    201 {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: {
        creationTimestamp: "TIME",
        name: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        expirationSeconds: 3600,
        groups: ["system:masters", "system:authenticated"],
        request: "REQUEST",
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth", "digital signature"],
        username: "dana",
      },
      status: {},
    }
  `);
  const shown = await api.get(`${path}/${namespace}`, table);
  expect(shown.body.columnDefinitions.map(({ name, type }: Record<string, unknown>) => [name, type])).toMatchInlineSnapshot(`
    [
      ["Name", "string"],
      ["Age", "string"],
      ["SignerName", "string"],
      ["Requestor", "string"],
      ["RequestedDuration", "string"],
      ["Condition", "string"],
    ]
  `);
  expect(shown.body.rows[0].cells.filter((_: unknown, index: number) => index !== 1)).toMatchInlineSnapshot(
    `["NAMESPACE", "kubernetes.io/kube-apiserver-client", "dana", "60m", "Pending"]`,
  );
  const approved = await decide(api, namespace, "Approved");
  expect([approved.status, approved.body.status]).toMatchInlineSnapshot(`
    [
      200,
      {
        conditions: [
          {
            lastTransitionTime: "TIME",
            lastUpdateTime: "TIME",
            message: "by a test",
            reason: "ByTest",
            status: "True",
            type: "Approved",
          },
        ],
      },
    ]
  `);
  const certificate = await certificateOf(api, namespace);
  expect([certificate.subject, certificate.keyUsage, certificate.ca]).toEqual(["O=developers\nCN=dana", ["1.3.6.1.5.5.7.3.2"], false]);
  expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(3_900_000);
  expect((await api.get(`${path}/${namespace}`, table)).body.rows[0].cells.at(-1)).toBe("Approved,Issued");
  await api.delete(`${path}/${namespace}`);
});

test("invalid requests are refused", async ({ api, namespace }) => {
  const post = async (body: object): Promise<Answer> => await api.post(path, body);
  const broken = {
    metadata: { name: namespace },
    spec: { request: Buffer.from("nonsense").toString("base64"), signerName: client, usages: ["client auth"] },
  };

  expect(await post(broken)).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.request",
            message: 'Invalid value: "bm9uc2Vuc2U=": PEM block type must be CERTIFICATE REQUEST',
            reason: "FieldValueInvalid",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.request: Invalid value: "bm9uc2Vuc2U=": PEM block type must be CERTIFICATE REQUEST',
      reason: "Invalid",
    }
  `);
  expect((await post(csr(namespace, "forged", kubeletServing, ["server auth"]))).body.details.causes).toMatchObject([
    { field: "spec.request", message: expect.stringMatching(/: x509: ECDSA verification failure$/) },
  ]);
  expect(await post(csr(namespace, "client", client, []))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.usages", message: "Required value", reason: "FieldValueRequired"}],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.usages: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "client", client, ["client auth", "client auth"]))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.usages[1]", message: 'Duplicate value: "client auth"', reason: "FieldValueDuplicate"}],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.usages[1]: Duplicate value: "client auth"',
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "client", "", ["client auth"]))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.signerName", message: "Required value", reason: "FieldValueRequired"}],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.signerName: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "client", "nodomain", ["client auth"]))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.signerName",
            message: "Invalid value: \\"nodomain\\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            reason: "FieldValueInvalid",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: "CertificateSigningRequest.certificates.k8s.io \\"NAMESPACE\\" is invalid: spec.signerName: Invalid value: \\"nodomain\\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "client", "kubernetes.io/legacy-unknown", ["client auth"]))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.signerName",
            message: 'Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
            reason: "FieldValueInvalid",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "client", client, ["client auth"], { expirationSeconds: 60 }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.expirationSeconds",
            message: "Invalid value: 60: may not specify a duration less than 600 seconds (10 minutes)",
            reason: "FieldValueInvalid",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 600 seconds (10 minutes)',
      reason: "Invalid",
    }
  `);
  expect(await post(csr(namespace, "masters", client, ["client auth"]))).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "certificates.k8s.io", kind: "certificatesigningrequests", name: "NAMESPACE"},
      message: 'certificatesigningrequests.certificates.k8s.io "NAMESPACE" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
      reason: "Forbidden",
    }
  `);
  const misused = await post(csr(namespace, "client", client, ["sparkle"]));
  expect([misused.status, misused.body.details.causes.length]).toEqual([422, 1]);
});

test("a decision is final, and can only be made through the approval subresource", async ({ api, namespace }) => {
  await api.create(path, csr(namespace, "client", client, ["client auth"]));
  const { body } = await api.get(`${path}/${namespace}`);
  const approved = { type: "Approved", status: "True", reason: "a", message: "b" };
  expect(await api.put(`${path}/${namespace}/status`, { ...body, status: { conditions: [approved] } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.conditions",
            message: 'Forbidden: updates may not add a condition of type "Approved"',
            reason: "FieldValueForbidden",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: status.conditions: Forbidden: updates may not add a condition of type "Approved"',
      reason: "Invalid",
    }
  `);
  expect((await decide(api, namespace, "Denied")).status).toBe(200);
  expect(await decide(api, namespace, "Approved")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.conditions",
            message: 'Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
            reason: "FieldValueInvalid",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
      reason: "Invalid",
    }
  `);
  const { body: denied } = await api.get(`${path}/${namespace}`);
  expect(await api.put(`${path}/${namespace}/approval`, { ...denied, status: {} })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "status.conditions",
            message: 'Forbidden: updates may not remove a condition of type "Denied"',
            reason: "FieldValueForbidden",
          },
        ],
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: "NAMESPACE",
      },
      message: 'CertificateSigningRequest.certificates.k8s.io "NAMESPACE" is invalid: status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
      reason: "Invalid",
    }
  `);
  const changed = await api.patch("merge", `${path}/${namespace}`, {
    spec: { signerName: "example.com/other" },
    status: { conditions: [] },
  });
  expect([changed.status, changed.body.spec.signerName, changed.body.status.conditions.length]).toEqual([200, client, 1]);
  await api.delete(`${path}/${namespace}`);
});

test("a request that its signer does not accept fails", async ({ api, namespace }) => {
  await api.create(path, csr(namespace, "client", client, ["client auth", "server auth"]));
  await decide(api, namespace, "Approved");
  const { body } = await eventually(async () => {
    const answer = await api.get(`${path}/${namespace}`);
    expect(answer.body.status.conditions).toHaveLength(2);
    return answer;
  });
  expect(body.status.conditions[1]).toMatchInlineSnapshot(`
    {
      lastTransitionTime: "TIME",
      lastUpdateTime: "TIME",
      message: "invalid usage for client certificate: server auth",
      reason: "SignerValidationFailure",
      status: "True",
      type: "Failed",
    }
  `);
  await api.delete(`${path}/${namespace}`);
});

test("a kubelet's client certificate is approved automatically, its serving certificate never", async ({ api, namespace }) => {
  const node = asNode(api, "csr");
  const binding = `${namespace}-nodes`;
  await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: binding },
    roleRef: { kind: "ClusterRole", name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient" },
    subjects: [{ kind: "User", name: "system:node:csr" }],
  });
  await eventually(async () => {
    const review = {
      spec: {
        user: "system:node:csr",
        resourceAttributes: {
          verb: "create",
          group: "certificates.k8s.io",
          resource: "certificatesigningrequests",
          subresource: "selfnodeclient",
        },
      },
    };
    expect((await api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)).body.status.allowed).toBe(true);
  });
  expect((await node("POST", path, csr(namespace, "kubelet", kubeletClient, ["client auth", "digital signature"]))).status).toBe(201);
  const certificate = await certificateOf(api, namespace);
  expect(certificate.subject).toBe("O=system:nodes\nCN=system:node:csr");
  expect((await api.get(`${path}/${namespace}`)).body.status.conditions).toMatchInlineSnapshot(`
    [
      {
        lastTransitionTime: "TIME",
        lastUpdateTime: "TIME",
        message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
        reason: "AutoApproved",
        status: "True",
        type: "Approved",
      },
    ]
  `);

  expect((await node("POST", path, csr(`${namespace}-s`, "serving", kubeletServing, ["server auth", "digital signature"]))).status).toBe(
    201,
  );
  expect((await api.get(`${path}/${namespace}-s`)).body.status).toEqual({});
  await decide(api, `${namespace}-s`, "Approved");
  const serving = await certificateOf(api, `${namespace}-s`);
  expect([serving.subjectAltName, serving.keyUsage]).toEqual(["DNS:csr, IP Address:10.0.0.1", ["1.3.6.1.5.5.7.3.1"]]);
  expect(await asNode(api, "other")("POST", path, csr(`${namespace}-o`, "kubelet", kubeletClient, ["client auth", "digital signature"])))
    .toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "certificates.k8s.io", kind: "certificatesigningrequests", name: "NAMESPACE-o"},
      message: 'certificatesigningrequests.certificates.k8s.io "NAMESPACE-o" is forbidden: can only create a node CSR with CN=system:node:other',
      reason: "Forbidden",
    }
  `);
  for (const name of [namespace, `${namespace}-s`]) await api.delete(`${path}/${name}`);
  await api.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${binding}`);
});

test("only users with the right to approve for a signer can do so", async ({ api, namespace }) => {
  await api.create(path, csr(namespace, "client", client, ["client auth"]));
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const rules = [
    {
      verbs: ["get", "update"],
      apiGroups: ["certificates.k8s.io"],
      resources: ["certificatesigningrequests", "certificatesigningrequests/approval"],
    },
  ];
  await api.create(`${rbac}/clusterroles`, { metadata: { name: namespace }, rules });
  await api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name: namespace },
    roleRef: { kind: "ClusterRole", name: namespace },
    subjects: [{ kind: "User", name: "approver" }],
  });
  const approver = asUser(api, "approver");
  const { body } = await eventually(async () => {
    const answer = await approver("GET", `${path}/${namespace}`);
    expect(answer.status).toBe(200);
    return answer;
  });
  const status = { conditions: [{ type: "Approved", status: "True", reason: "a", message: "b" }] };
  expect(await approver("PUT", `${path}/${namespace}/approval`, { ...body, status })).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "certificates.k8s.io", kind: "certificatesigningrequests", name: "NAMESPACE"},
      message: 'certificatesigningrequests.certificates.k8s.io "NAMESPACE" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"',
      reason: "Forbidden",
    }
  `);
  await api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name: `${namespace}-signer` },
    roleRef: { kind: "ClusterRole", name: "system:certificates.k8s.io:kube-apiserver-client-approver" },
    subjects: [{ kind: "User", name: "approver" }],
  });
  await eventually(async () => expect((await approver("PUT", `${path}/${namespace}/approval`, { ...body, status })).status).toBe(200));
  await api.delete(`${path}/${namespace}`);
  await api.delete(`${rbac}/clusterroles/${namespace}`);
  for (const name of [namespace, `${namespace}-signer`]) await api.delete(`${rbac}/clusterrolebindings/${name}`);
});
