/** Event about a pod that runs otherwise than its spec says. It is recorded when the container group is created. */
export interface Note {
  readonly reason:
    | "DNSConfigForming"
    | "FileModeIgnored"
    | "HostnameIgnored"
    | "LimitLowered"
    | "PublicAddress"
    | "PullSecretIgnored"
    | "ServiceAccountTokenExpires"
    | "SidecarStartsWithContainers";
  readonly type: "Normal" | "Warning";
  /** It holds no secrets. */
  readonly message: string;
  readonly container?: string | undefined;
}
