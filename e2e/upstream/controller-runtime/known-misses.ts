/** Tests that pass on a real kube-apiserver and not on the embedded API server, by suite, with the reason. */
export const knownMisses: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
