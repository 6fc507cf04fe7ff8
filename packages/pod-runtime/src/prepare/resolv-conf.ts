import type { DnsSettings } from "../runtime/runtime-spec.ts";

/**
 * Parses a `resolv.conf` like a kubelet: name servers accumulate, the last `search` line counts, a later option replaces an earlier one of
 * the same name. Other lines are ignored. Source: parseResolvConf in kubernetes v1.36.3 pkg/kubelet/network/dns/dns.go.
 */
export function parseResolvConf(text: string): DnsSettings {
  const servers: string[] = [];
  const options = new Map<string, string>();
  let searches: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...values] = line.trim().split(/\s+/);
    if (keyword === "nameserver" && values[0] !== undefined) servers.push(values[0]);
    if (keyword === "search") searches = values.filter((domain) => domain !== ".").map((domain) => domain.replace(/\.$/, ""));
    if (keyword === "options") for (const option of values) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

export function formatResolvConf({ servers, searches, options }: DnsSettings): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(" ")}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Whether the only server is the stub of systemd-resolved, which runs on the node and which pods cannot reach. */
export function namesOnlyStub({ servers }: DnsSettings): boolean {
  return servers.length > 0 && servers.every((server) => server === "127.0.0.53" || server === "127.0.0.54");
}

/** The name of an option, such as `ndots` of `ndots:5`. */
export function optionName(option: string): string {
  return option.split(":", 1)[0] ?? option;
}
