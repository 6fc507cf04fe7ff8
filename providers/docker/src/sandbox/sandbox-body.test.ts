import { isUnsupported } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { podWith, sandboxSpec } from "../test-support/specs.ts";
import { networkAnnotation, podNetwork } from "../network/network-annotation.ts";
import { ociRuntime } from "./runtime-class.ts";
import { sandboxBody } from "./sandbox-body.ts";

const options = { image: "pause:1", network: "bridge", canLowerOomScore: true };

test("a sandbox holds the pod's name, DNS, aliases, sysctls and shared memory, and is killed last", () => {
  const pod = podWith({ securityContext: { sysctls: [{ name: "net/ipv4/tcp_syncookies", value: "0" }] } });
  const spec = sandboxSpec(pod, {
    dns: { servers: ["10.0.0.10"], searches: ["shop.svc"], options: ["ndots:5"] },
    hosts: [{ ip: "192.0.2.1", hostnames: ["a", "b"] }],
  });

  expect(sandboxBody(spec, options)).toMatchObject({
    Image: "pause:1",
    Hostname: "web",
    Labels: { "io.kubernetes.pod.uid": "u1", "virtual-kubelet.io/image": "pause:1" },
    HostConfig: {
      NetworkMode: "bridge",
      IpcMode: "shareable",
      ShmSize: 67_108_864,
      Sysctls: { "net.ipv4.tcp_syncookies": "0" },
      Dns: ["10.0.0.10"],
      DnsSearch: ["shop.svc"],
      DnsOptions: ["ndots:5"],
      ExtraHosts: ["a:192.0.2.1", "b:192.0.2.1"],
      CpuShares: 2,
      OomScoreAdj: -998,
      RestartPolicy: { Name: "no" },
    },
  });
  expect(sandboxBody(spec, { ...options, canLowerOomScore: false }).HostConfig?.OomScoreAdj).toBe(0);
});

test("host ports of containers and sidecars are published, those of init containers are not", () => {
  const pod = podWith(
    {
      initContainers: [
        { name: "setup", image: "i", ports: [{ containerPort: 1, hostPort: 1 }] },
        { name: "proxy", image: "i", restartPolicy: "Always", ports: [{ containerPort: 53, hostPort: 5353, protocol: "UDP" }] },
      ],
    },
    {
      ports: [{ containerPort: 80, hostPort: 8080, hostIP: "127.0.0.1" }, { containerPort: 80, hostPort: 8081 }, { containerPort: 9000 }],
    },
  );
  const { ExposedPorts, HostConfig } = sandboxBody(sandboxSpec(pod), options);

  expect(ExposedPorts).toEqual({ "53/udp": {}, "80/tcp": {} });
  expect(HostConfig?.PortBindings).toEqual({
    "53/udp": [{ HostIp: "", HostPort: "5353" }],
    "80/tcp": [
      { HostIp: "127.0.0.1", HostPort: "8080" },
      { HostIp: "", HostPort: "8081" },
    ],
  });
});

test("without a network of the engine a sandbox has no ports of the engine either", () => {
  const pod = podWith({}, { ports: [{ containerPort: 80, hostPort: 8080 }] });
  const made = sandboxBody(sandboxSpec(pod), { ...options, network: "none" });

  expect(made.HostConfig).toMatchObject({ NetworkMode: "none" });
  expect(made.HostConfig).not.toHaveProperty("PortBindings");
  expect(made).not.toHaveProperty("ExposedPorts");
});

test("on the host's network a sandbox has no name and no ports of its own", () => {
  const pod = podWith({ hostNetwork: true, hostIPC: true, hostPID: true }, { ports: [{ containerPort: 80, hostPort: 80 }] });
  const made = sandboxBody(sandboxSpec(pod), options);

  expect(made.HostConfig).toMatchObject({ NetworkMode: "host", IpcMode: "host", PidMode: "host" });
  expect(made.HostConfig).not.toHaveProperty("PortBindings");
  expect(made).not.toHaveProperty("Hostname");
});

test("a pod chooses a network of the engine, and never the machine's or another container's", () => {
  const settings = { network: "bridge" };
  const choosing = (name: string) => ({ ...podWith(), metadata: { annotations: { [networkAnnotation]: name } } });

  expect(podNetwork(podWith(), settings)).toBe("bridge");
  expect(podNetwork(choosing("shop"), settings)).toBe("shop");
  for (const name of ["none", "host", "default", "container:abc", ""]) {
    let error: unknown;
    try {
      podNetwork(choosing(name), settings);
    } catch (thrown) {
      error = thrown;
    }
    expect(isUnsupported(error)).toBe(true);
  }
});

test("a runtime class is a runtime of its name, of the configured one, or the engine's default", () => {
  const named = (runtimeClassName: string) => podWith({ runtimeClassName });

  expect(ociRuntime(podWith(), {})).toBeUndefined();
  expect(ociRuntime(named("runsc"), {})).toBe("runsc");
  expect(ociRuntime(named("gvisor"), { gvisor: "runsc" })).toBe("runsc");
  expect(ociRuntime(named("docker"), {})).toBeUndefined();
});

test("a sandbox in the machine's IPC namespace has the machine's shared memory", () => {
  expect(sandboxBody(sandboxSpec(podWith({ hostIPC: true })), options).HostConfig).not.toHaveProperty("ShmSize");
});

test("a sandbox starts on an engine that compresses rotated logs by default", () => {
  const { HostConfig } = sandboxBody(sandboxSpec(podWith()), options);

  // With one file there is nothing to compress, and the engine refuses to start such a container.
  expect(HostConfig?.LogConfig?.Config).toEqual({ "max-size": "1m", "max-file": "1", compress: "false" });
});
