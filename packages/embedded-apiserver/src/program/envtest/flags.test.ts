import { expect, test } from "vitest";
import { kubeApiserverFlags, parseFlags } from "./flags.ts";
import { toSettings } from "./kube-apiserver-settings.ts";

const types = kubeApiserverFlags();
const settings = (line: string) => toSettings(parseFlags(line.split(" ").filter(Boolean), types));

test("flags are written as pflag reads them", () => {
  const flags = parseFlags(["--secure-port", "1", "--secure-port=2", "--allow-privileged", "-v", "4", "--profiling=false"], types);

  expect([...flags]).toEqual([
    ["secure-port", ["1", "2"]],
    ["allow-privileged", ["true"]],
    ["v", ["4"]],
    ["profiling", ["false"]],
  ]);
});

test.each([
  ["--nosuch", "unknown flag: --nosuch"],
  ["--constructor=1", "unknown flag: --constructor"],
  ["--secure-port", "flag needs an argument: --secure-port"],
  ["serve", 'unknown command "serve"'],
])("%s is refused in kube-apiserver's words", (line, message) => {
  expect(() => parseFlags([line], types)).toThrow(message);
});

test("the flags of envtest tell where to listen and whom to trust", () => {
  const line =
    "--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=/c --client-ca-file=/c/ca.crt " +
    "--disable-admission-plugins=ServiceAccount --etcd-servers=http://127.0.0.1:1 --secure-port=8443 --service-account-issuer=https://x/ " +
    "--service-account-key-file=/c/sa.crt --service-account-signing-key-file=/c/sa.key --service-cluster-ip-range=10.0.0.0/24";

  expect(settings(line)).toEqual({
    host: "127.0.0.1",
    port: 8443,
    serving: { certificate: "/c/apiserver.crt", key: "/c/apiserver.key", isRequired: false },
    clientCaFile: "/c/ca.crt",
    authorization: "RBAC",
    serviceAccounts: false,
    serviceClusterIpRange: "10.0.0.0/24",
    ignored: [],
  });
});

test("flags without an effect are named", () => {
  expect(settings("--audit-log-path=/log --goaway-chance=0.1 --v=2").ignored).toEqual(["audit-log-path", "goaway-chance"]);
});

test.each([
  ["", "AlwaysAllow"],
  ["--authorization-mode=AlwaysAllow", "AlwaysAllow"],
  ["--authorization-mode=Node,RBAC", "RBAC"],
  ["--authorization-mode=Node --authorization-mode=RBAC", "RBAC"],
])("the authorization of %j is %s", (line, mode) => {
  expect(settings(line).authorization).toBe(mode);
});

test.each(["--authorization-mode=Odd", "--secure-port=x", "--secure-port=70000"])("%s is refused", (line) => {
  expect(() => settings(line)).toThrow(/Odd|x|70000/);
});
