"""The bundle's program: the command line."""

import helixscope

helixscope.main()
