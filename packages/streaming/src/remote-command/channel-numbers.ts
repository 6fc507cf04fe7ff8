/** Channels of a command over a WebSocket. Source: kubernetes v1.36.3 k8s.io/cri-streaming remotecommand/constants.go. */
export const channelNumbers = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
