/** Key of {@link certificate}. Worth nothing anywhere else. */
export const key: string = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0+t7a9tuBHWran0W
fdZZyk5WYgC/qUUe2mGvy0oTl7ShRANCAAR+uNfbYV9SiXwlUzpv/h0YCvw/f/iK
HgqfffUhyPHY4tC98xvmOUfj/eQdEgrkVmnb2xCek8qWsmRw3ru4UVyR
-----END PRIVATE KEY-----`;

/** Of an API server on loopback, and of its clients: its own authority, for the name `kubernetes`, loopback addresses not among its names. */
export const certificate: string = `-----BEGIN CERTIFICATE-----
MIIBYDCCAQagAwIBAgIBATAKBggqhkjOPQQDAjATMREwDwYDVQQDDAhsb29wYmFj
azAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEzERMA8GA1UEAwwI
bG9vcGJhY2swWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR+uNfbYV9SiXwlUzpv
/h0YCvw/f/iKHgqfffUhyPHY4tC98xvmOUfj/eQdEgrkVmnb2xCek8qWsmRw3ru4
UVyRo0kwRzAPBgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmt1YmVybmV0ZXMw
HQYDVR0OBBYEFCiq9ICrLtKk3hQkaXpN2bOp1NIyMAoGCCqGSM49BAMCA0gAMEUC
IQDGdvkAaBxaiTWIyL2qE1qpTaPWLEX4pXsfGBmKe7rRzwIgBiG4OyWS7N1RPm0C
bitG5wz002En/mf6tzmVtgJG6pY=
-----END CERTIFICATE-----`;
