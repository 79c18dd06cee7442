"""equipoise db: keys, pools and backups of the service's database."""

from __future__ import annotations

from equipoise.cli.declaring import add_command
from equipoise.cli.grouping import create_group
from equipoise.cli.service import backups, erase, exchange, keys, verify

application = create_group("Look after the database of the service: keys, pools, backups.")
application.add_typer(keys.application, name="keys")
add_command(application, "import", exchange.import_, exchange.IMPORT_EXAMPLE)
add_command(application, "export", exchange.export, exchange.EXAMPLE)
add_command(application, "verify", verify.verify, verify.EXAMPLE)
add_command(application, "check", backups.check, backups.CHECK_EXAMPLE)
add_command(application, "backup", backups.backup, backups.BACKUP_EXAMPLE)
add_command(application, "restore", backups.restore, backups.RESTORE_EXAMPLE)
add_command(application, "erase", erase.erase, erase.EXAMPLE)
