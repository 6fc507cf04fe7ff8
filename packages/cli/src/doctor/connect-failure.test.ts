import { expect, test } from "vitest";
import { explainConnectFailure } from "./connect-failure.ts";

const explain = (code: string, url: string) =>
  explainConnectFailure(Object.assign(new Error(code), { code }), url, (words) => `kubectl ${words} --kubeconfig mine`);

test.for([
  ["https://api.example:8443", "api.example:8443"],
  ["https://api.example", "api.example:443"],
  ["https://[2001:db8::1]:6443", "'[2001:db8::1]:6443'"],
])("the names in the certificate of %s are read at %s", ([url = "", address]) => {
  expect(explain("ERR_TLS_CERT_ALTNAME_INVALID", url).repair[0]).toBe(
    `openssl s_client -connect ${address} </dev/null | openssl x509 -noout -ext subjectAltName`,
  );
});

test("commands of kubectl read the program's kubeconfig", () => {
  expect(explain("SELF_SIGNED_CERT_IN_CHAIN", "https://c").repair).toContain("kubectl config view --minify --kubeconfig mine");
});

test("no command changes a cluster with an invented name", () => {
  for (const code of ["ENOTFOUND", "ECONNREFUSED", "ERR_TLS_CERT_ALTNAME_INVALID", "SELF_SIGNED_CERT_IN_CHAIN", "EPROTO"])
    expect(explain(code, "https://c").repair.filter((step) => step.startsWith("kubectl config set"))).toEqual([]);
});
