/* preload.c - build/counter-preload.so: gives the extension to hosts that cannot load one.
 *
 *     LD_PRELOAD=build/counter-preload.so php page.php
 *
 * PHP's PDO, LuaSQL and Qt open SQLite connections and have no call that loads an extension. This
 * library has the extension linked in, and registers it for every connection that the process opens
 * from now on. It works for hosts that link SQLite as a shared library; a host with its own copy of
 * SQLite never sees this registration.
 */
#include "counter.h"

static __attribute__((constructor)) void register_for_all(void)
{
    sqlite3_auto_extension((void (*)(void))sqlite3_counter_init);
}
