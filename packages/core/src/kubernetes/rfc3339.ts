/** The time as the API writes it: RFC 3339 in UTC, in whole seconds. */
export { rfc3339 as formatTime } from "@virtual-kubelet/kube-client";
