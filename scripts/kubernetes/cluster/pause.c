/* What holds a pod's namespaces: it waits. */
#include <unistd.h>

int main(void) {
    for (;;) pause();
}
