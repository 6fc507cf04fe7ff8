import { expect, test } from "vitest";
import { hostNetworkHostsFile, podHostsFile } from "./hosts-file.ts";

const aliases = [
  { ip: "10.1.2.3", hostnames: ["foo.local", "bar.local"] },
  { ip: "10.1.2.4", hostnames: ["baz"] },
];

test("a pod's hosts file equals a kubelet's, with a line for each address of the pod", () => {
  expect(podHostsFile(["10.0.0.1", "fd00::1"], { hostname: "web", domain: "" }, [])).toBe(`# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
10.0.0.1\tweb
fd00::1\tweb
`);
});

test("the name with its domain comes before the short name", () => {
  const names = { hostname: "db-0", domain: "db.shop.svc.cluster.local" };
  expect(podHostsFile(["10.0.0.1"], names, [])).toMatch(/\n10\.0\.0\.1\tdb-0\.db\.shop\.svc\.cluster\.local\tdb-0\n$/);
});

test("host aliases follow, with one line per address", () => {
  expect(podHostsFile([], { hostname: "web", domain: "" }, aliases)).toMatch(
    /\n\n# Entries added by HostAliases\.\n10\.1\.2\.3\tfoo\.local\tbar\.local\n10\.1\.2\.4\tbaz\n$/,
  );
});

test("on the node's network the file is the node's own, followed by the aliases", () => {
  expect(hostNetworkHostsFile("127.0.0.1 localhost\n", aliases.slice(1))).toBe(
    "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n10.1.2.4\tbaz\n",
  );
});
