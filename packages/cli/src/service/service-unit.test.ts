import { expect, test } from "vitest";
import { renderUnit, type ServicePlan } from "./service-unit.ts";

function plan(given: Partial<ServicePlan> = {}): ServicePlan {
  return {
    target: {
      name: "virtual-kubelet-vk-1",
      scope: "system",
      unitFile: "/etc/systemd/system/virtual-kubelet-vk-1.service",
      environmentFile: "/etc/virtual-kubelet/virtual-kubelet-vk-1.env",
    },
    invocation: { node: "/usr/bin/node", nodeFlags: [], program: "/usr/bin/virtual-kubelet" },
    carried: { flags: ["--provider=mock", "--nodename=vk-1"], variables: [], secretVariables: [] },
    nodes: [{ name: "vk-1", provider: "mock", isBuiltIn: true }],
    workingDirectory: undefined,
    runAsUser: undefined,
    shutdownTimeoutMs: 30_000,
    ...given,
  };
}

test("a node of the mock provider", () => {
  expect(renderUnit(plan())).toMatchInlineSnapshot(`
    "# Written by virtual-kubelet service install.
    # Changes to this file are lost when it is written again; systemctl edit virtual-kubelet-vk-1 keeps them elsewhere.
    [Unit]
    Description=Virtual Kubelet: node vk-1 (mock)
    Documentation=https://github.com/virtual-kubelet/virtual-kubelet-ts
    Wants=network-online.target
    After=network-online.target
    # The program waits for a cluster and a back end that do not answer; systemd never gives up either.
    StartLimitIntervalSec=0

    [Service]
    Type=exec
    ExecStart=/usr/bin/node /usr/bin/virtual-kubelet run --provider=mock --nodename=vk-1
    SyslogIdentifier=virtual-kubelet-vk-1
    Restart=always
    RestartSec=5
    # An invalid command line or setting: a restart does not help.
    RestartPreventExitStatus=64 78
    # The program passes the first signal on to its nodes and waits for them.
    KillMode=mixed
    TimeoutStopSec=45
    StateDirectory=virtual-kubelet
    StateDirectoryMode=0700
    NoNewPrivileges=yes
    LockPersonality=yes
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    RestrictNamespaces=yes
    SystemCallArchitectures=native
    ProtectClock=yes
    ProtectHostname=yes
    ProtectKernelModules=yes
    ProtectKernelTunables=yes
    ProtectKernelLogs=yes
    ProtectControlGroups=yes
    ProtectSystem=yes
    PrivateDevices=yes

    [Install]
    WantedBy=multi-user.target
    "
  `);
});

test("a node of the Docker provider keeps its rights on the machine, and starts after the engine", () => {
  const unit = renderUnit(
    plan({
      carried: {
        flags: ["--provider=docker", "--nodename=vk-1"],
        variables: [{ name: "VKUBELET_LOG_LEVEL", value: "warn" }],
        secretVariables: [{ name: "DOCKER_HOST", value: "unix:///run/other.sock" }],
      },
      nodes: [{ name: "vk-1", provider: "docker", isBuiltIn: true }],
    }),
  );

  expect(unit).toMatchInlineSnapshot(`
    "# Written by virtual-kubelet service install.
    # Changes to this file are lost when it is written again; systemctl edit virtual-kubelet-vk-1 keeps them elsewhere.
    [Unit]
    Description=Virtual Kubelet: node vk-1 (docker)
    Documentation=https://github.com/virtual-kubelet/virtual-kubelet-ts
    Wants=network-online.target
    After=network-online.target docker.service docker.socket podman.socket
    # The program waits for a cluster and a back end that do not answer; systemd never gives up either.
    StartLimitIntervalSec=0

    [Service]
    Type=exec
    ExecStart=/usr/bin/node /usr/bin/virtual-kubelet run --provider=docker --nodename=vk-1
    Environment="VKUBELET_LOG_LEVEL=warn"
    EnvironmentFile=/etc/virtual-kubelet/virtual-kubelet-vk-1.env
    SyslogIdentifier=virtual-kubelet-vk-1
    Restart=always
    RestartSec=5
    # An invalid command line or setting: a restart does not help.
    RestartPreventExitStatus=64 78
    # The program passes the first signal on to its nodes and waits for them.
    KillMode=mixed
    TimeoutStopSec=45
    StateDirectory=virtual-kubelet
    StateDirectoryMode=0700
    NoNewPrivileges=yes
    LockPersonality=yes
    RestrictRealtime=yes

    [Install]
    WantedBy=multi-user.target
    "
  `);
});

test("a provider that is not built in keeps its rights, whatever its name is", () => {
  expect(renderUnit(plan({ nodes: [{ name: "vk-1", provider: "mock", isBuiltIn: false }] }))).not.toContain("ProtectSystem");
});

test("one provider that needs rights on the machine decides for all", () => {
  const nodes = ["mock", "docker"].map((provider) => ({ name: provider, provider, isBuiltIn: true }));

  expect(renderUnit(plan({ nodes }))).not.toContain("ProtectSystem");
});

test("systemd waits longer than the program", () => {
  expect(renderUnit(plan({ shutdownTimeoutMs: 90_500 }))).toContain("\nTimeoutStopSec=106\n");
});

test("an unknown provider is looked for where the command was run", () => {
  expect(renderUnit(plan({ workingDirectory: "/srv/50 % off" }))).toContain("\nWorkingDirectory=/srv/50 %% off\n");
});
