import { expect, test } from "vitest";
import { serviceRouting } from "./service-routing.ts";

const network = { name: "bridge", driver: "bridge", hasIPv6: false };
const bridged = "/proc/sys/net/bridge/bridge-nf-call-iptables";
const forwarding = "/proc/sys/net/ipv4/ip_forward";
const bridged6 = "/proc/sys/net/bridge/bridge-nf-call-ip6tables";
const forwarding6 = "/proc/sys/net/ipv6/conf/all/forwarding";
const fit = { [bridged]: "1", [forwarding]: "1", [bridged6]: "1", [forwarding6]: "1" };

/** A kernel with these files, and no others. */
function kernel(files: Readonly<Record<string, string | undefined>>) {
  return (path: string) => Promise.resolve(files[path]);
}

test("a kernel that forwards, and asks iptables about bridged packets, routes Services", async () => {
  expect(await serviceRouting(network, kernel(fit))).toMatchObject({ type: "ServiceRouting", status: "True", reason: "KernelSettingsFit" });
});

test.each([
  [bridged, "BridgeNetfilterOff", "sysctl -w net.bridge.bridge-nf-call-iptables=1"],
  [forwarding, "ForwardingOff", "sysctl -w net.ipv4.ip_forward=1"],
])("a setting that is off is told with its remedy: %s", async (file, reason, remedy) => {
  const condition = await serviceRouting(network, kernel({ ...fit, [file]: "0" }));

  expect(condition).toMatchObject({ status: "False", reason });
  expect(condition.message).toContain(`run "${remedy}"`);
});

test("a module that is not loaded is told with its remedy", async () => {
  const condition = await serviceRouting(network, kernel({ ...fit, [bridged]: undefined }));

  expect(condition).toMatchObject({ status: "False", reason: "BridgeNetfilterMissing" });
  expect(condition.message).toContain(
    'the kernel module br_netfilter is not loaded, so there is no /proc/sys/net/bridge/bridge-nf-call-iptables; run "modprobe br_netfilter"',
  );
});

test("all that is wrong is told at once", async () => {
  const condition = await serviceRouting(network, kernel({ [forwarding]: "0", [bridged]: "0" }));

  expect(condition.message).toMatch(/ip_forward is 0.*bridge-nf-call-iptables is 0/);
});

test("settings for IPv6 matter where the network has it", async () => {
  const off = kernel({ ...fit, [bridged6]: "0", [forwarding6]: "0" });

  expect(await serviceRouting(network, off)).toMatchObject({ status: "True" });
  expect(await serviceRouting({ ...network, hasIPv6: true }, off)).toMatchObject({ status: "False", reason: "IPv6ForwardingOff" });
  expect(await serviceRouting({ ...network, hasIPv6: true }, kernel({ ...fit, [forwarding6]: "2" }))).toMatchObject({ status: "True" });
});

test("what cannot be read is not called good, nor bad", async () => {
  const condition = await serviceRouting(network, () => Promise.reject(new Error("permission denied")));

  expect(condition).toMatchObject({
    status: "Unknown",
    reason: "KernelSettingsUnreadable",
    message: expect.stringContaining("permission denied"),
  });
});

test("a network that is no bridge is not judged by settings of bridges", async () => {
  expect(await serviceRouting({ ...network, driver: "macvlan" }, kernel({}))).toMatchObject({ status: "Unknown", reason: "NotABridge" });
});
