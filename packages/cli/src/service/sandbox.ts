/** What a unit needs that depends on the provider. */
export interface ProviderUnit {
  /** Units of a back end on the same machine. They do not have to exist. */
  readonly after: readonly string[];
  /** Whether the provider only sends requests, so that the program can be kept from the machine. */
  readonly isRemote: boolean;
}

/** Providers that are not listed may use whatever the machine has. */
const providerUnits: Readonly<Record<string, ProviderUnit>> = {
  aci: { after: [], isRemote: true },
  docker: { after: ["docker.service", "docker.socket", "podman.socket"], isRemote: false },
  fargate: { after: [], isRemote: true },
  mock: { after: [], isRemote: true },
  nomad: { after: ["nomad.service"], isRemote: true },
  zun: { after: [], isRemote: true },
};

/** @param name - name of a built-in provider; any other for one that is not built in */
export function providerUnit(name: string): ProviderUnit {
  return Object.hasOwn(providerUnits, name) ? (providerUnits[name] ?? unknownProvider) : unknownProvider;
}

const unknownProvider: ProviderUnit = { after: [], isRemote: false };

/** Directives that take nothing from any provider. */
const forAll = ["NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes"] as const;

/**
 * Directives for a provider that only sends requests. Docker's provider mounts volumes where the engine sees them, enters network namespaces,
 * writes cgroups and runs CNI plugins, none of which these allow. There is no ProtectHome, because Node.js, the program or a file of the
 * kubeconfig may be in a home folder, and no MemoryDenyWriteExecute, because Node.js compiles while it runs.
 */
const forRemote = [
  "RestrictSUIDSGID=yes",
  "RestrictNamespaces=yes",
  "SystemCallArchitectures=native",
  "ProtectClock=yes",
  "ProtectHostname=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelTunables=yes",
  "ProtectKernelLogs=yes",
  "ProtectControlGroups=yes",
  "ProtectSystem=yes",
  "PrivateDevices=yes",
] as const;

/** A user's systemd has no right to set up more than this. */
const forUser = ["NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes"] as const;

/** Directives that restrict the program, as lines. */
export function sandboxLines(scope: "system" | "user", providers: readonly ProviderUnit[]): readonly string[] {
  if (scope === "user") return forUser;
  return providers.every(({ isRemote }) => isRemote) ? [...forAll, ...forRemote] : forAll;
}
