import type { InterfaceStats } from "@virtual-kubelet/core";

/** Prefixes of interfaces that are not counted. Source: cadvisor v0.56.2 container/libcontainer/handler.go. */
const ignored = ["lo", "veth", "docker", "nerdctl"];

/** Traffic by interface, from the text of `/proc/PID/net/dev`. */
export function interfacesOf(text: string): readonly InterfaceStats[] {
  return text.split("\n").flatMap((line) => {
    const [, name = "", rest = ""] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const figures = rest.trim().split(/\s+/).map(Number);
    if (figures.length !== 16 || ignored.some((beginning) => name.toLowerCase().startsWith(beginning))) return [];
    const [rxBytes, rxPackets, rxErrors, rxDropped, , , , , txBytes, txPackets, txErrors, txDropped] = figures;
    return [{ name, rxBytes, rxErrors, txBytes, txErrors, rxPackets, rxDropped, txPackets, txDropped }];
  });
}
