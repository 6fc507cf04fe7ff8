import { expect, test } from "vitest";
import { judgeReach } from "./reach-answer.ts";

const options = { name: "vk", port: 10_250, setAddress: "virtual-kubelet run --node-ip X" };
const status = (code: number, message: string) =>
  ({ kind: "answer", status: code, text: JSON.stringify({ kind: "Status", message, code }) }) as const;
const dial = "error trying to reach service: dial tcp 10.0.0.7:10250: ";

test.for<[what: string, answer: Parameters<typeof judgeReach>[0], says: RegExp, repair: RegExp]>([
  ["connection refused", status(503, `${dial}connect: connection refused`), /nothing listens/, /^ss -ltnp 'sport = :10250'$/],
  ["a timeout", status(503, `${dial}i/o timeout`), /do not reach the node's address/, /firewalls/],
  ["no route", status(503, `${dial}connect: no route to host`), /do not reach the node's address/, /--node-ip X/],
  ["no answer", { kind: "timeout" }, /do not reach the node's address/, /firewalls/],
  [
    "an unknown authority",
    status(503, "error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority"),
    /does not trust it/,
    /approve the request/,
  ],
  [
    "a certificate for another address",
    status(503, "tls: failed to verify certificate: x509: certificate is valid for 10.0.0.6, not 10.0.0.7"),
    /lacks the node's address/,
    /certificate\.serving/,
  ],
  [
    "a certificate without addresses",
    status(503, "x509: cannot validate certificate for 10.0.0.7 because it doesn't contain any IP SANs"),
    /lacks the node's address/,
    /certificate\.request/,
  ],
  [
    "no certificate",
    status(503, "error trying to reach service: remote error: tls: internal error"),
    /TLS handshake/,
    /certificate\.serving/,
  ],
  ["no addresses", status(500, "no preferred addresses found; known addresses: []"), /no address that the API server uses/, /--node-ip X/],
  [
    "a refusal of the API server's user",
    { kind: "answer", status: 403, text: "Forbidden (user=apiserver, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n" },
    /refuses the API server's own user apiserver/,
    /^kubectl create clusterrolebinding .* --user=apiserver$/,
  ],
  ["an unknown client authority", { kind: "answer", status: 401, text: "Unauthorized\n" }, /does not know the authority/, /client-ca-file/],
  [
    "the same, as for logs",
    status(401, "the server has asked for the client to provide credentials ( pods/log web)"),
    /does not know the authority/,
    /client-ca-file/,
  ],
  [
    "a failed review",
    { kind: "answer", status: 500, text: "Authorization error (user=a, verb=get, resource=nodes, subresource=proxy)" },
    /could not ask/,
    /subjectaccessreviews/,
  ],
  ["another answer", status(418, "teapot"), /answers 418: teapot/, /^kubectl get node vk -o wide$/],
  ["a lost API server", { kind: "failed", why: "ECONNRESET" }, /API server does not answer: ECONNRESET/, /cluster\.reachable/],
])("%s through the API server is explained", ([, answer, says, repair]) => {
  const judgement = judgeReach(answer, options);

  expect(judgement).toMatchObject({ status: "fail", message: expect.stringMatching(says) });
  expect(judgement?.repair).toContainEqual(expect.stringMatching(repair));
});

test("a success passes, and an address that the node proxy refuses is tried otherwise", () => {
  expect(judgeReach({ kind: "answer", status: 200, text: "ok" }, options)).toMatchObject({ status: "pass" });
  expect(judgeReach(status(400, "address not allowed"), options)).toBeUndefined();
});

test("an endless answer is cut", () => {
  expect(judgeReach(status(500, "x".repeat(10_000)), options)?.message.length).toBeLessThan(500);
});
